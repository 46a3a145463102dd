"""`agent chat`: a customer's chat on a terminal, whose requests the person who types decides."""

from collections.abc import Iterator

import click

from agent.desk import Desk
from agent.domain.approvals import Approval, Status
from agent.domain.conversation import EventType, LogEvent
from agent.domain.errors import InvalidInput
from agent.domain.ids import ApprovalId, ConversationId, CustomerId, RunId
from agent.steps.receive import open_conversation, receive
from bot.cli_ask import Left, ask, complain
from bot.cli_describe import see
from bot.cli_text import visible
from bot.cli_work import carry_on
from bot.cli_world import WORDS, NotDone, World
from storage import approvals, conversations


@click.command()
@click.option("--customer", type=WORDS, help="The shop's id of the customer; else a visitor.")
@click.pass_obj
def chat(world: World, customer: str | None) -> None:
    """Chat as a customer, decide as yourself.

    When a request waits, y approves, n rejects, e edits it, Enter leaves it waiting. End with
    Ctrl-D. To chat takes no role, to decide that of the request's tier.
    """
    with world.open_desk() as desk:
        who = "a visitor"
        if customer is not None:
            known = desk.shop.customer(CustomerId(customer))
            if known is None:
                raise NotDone("not_found", f"The shop knows no customer {customer}.")
            who = f"{known.name} ({known.id})"
        opened = open_conversation(desk, None if customer is None else CustomerId(customer))
        click.echo(visible(f"{opened.conversation_id}: you write as {who}"))
        try:
            _Chat(world, desk, opened.conversation_id).run()
        except click.Abort:
            click.echo()
        except UnicodeDecodeError as error:
            raise NotDone("invalid", "What was typed is not text in this encoding.") from error


class _Chat:
    """One chat: `_seen` is the last event that was printed, `_asked` the requests asked about."""

    def __init__(self, world: World, desk: Desk, conversation_id: ConversationId) -> None:
        self._world = world
        self._desk = desk
        self._id = conversation_id
        self._seen = 0
        self._asked: set[ApprovalId] = set()

    def run(self) -> None:
        """Read a line, let the desk answer, ask about what waits; click.Abort ends it."""
        while True:
            text = click.prompt("you", prompt_suffix="> ", default="", show_default=False)
            if not text.strip():
                continue
            try:
                sent = receive(self._desk, self._id, self._desk.ids.new("msg"), text)
            except InvalidInput as wrong:
                complain("invalid", str(wrong))
                continue
            self._go_on(sent.run_id)
            for approval in self._unasked():
                self._ask(approval)

    def _go_on(self, run_id: RunId) -> None:
        rests = carry_on(self._world, self._desk, run_id)
        self._hear()
        if not rests:
            complain("still_working", "What follows is shown after your next line.")

    def _hear(self) -> None:
        """Print what is new in the conversation."""
        with self._desk.store.transaction(write=False) as tx:
            while events := conversations.events_after(tx, self._id, self._seen):
                self._seen = events[-1].seq
                for line in (line for event in events for line in _lines(event)):
                    click.echo(line)

    def _unasked(self) -> list[Approval]:
        with self._desk.store.transaction(write=False) as tx:
            waiting = approvals.open_of_conversation(tx, self._id)
        return [a for a in waiting if a.status is Status.PENDING and a.id not in self._asked]

    def _ask(self, approval: Approval) -> None:
        self._asked.add(approval.id)
        with self._desk.store.transaction(write=False) as tx:
            sight = see(tx, approval)
        answer = ask(self._world, self._desk, sight)
        if not isinstance(answer, Left):
            # A request that still waits after this word waits for somebody else.
            self._asked.add(answer.approval.id)
            self._go_on(approval.run_id)


def _lines(event: LogEvent) -> Iterator[str]:
    """Yield an event as the customer reads it; the customer's own words stand there already."""
    data = event.data
    match event.type:
        case EventType.MESSAGE if data["role"] != "customer":
            first, *more = visible(str(data["text"]), lines=True).split("\n")
            yield f"{data['role']}> {first}"
            yield from (f"  {line}" for line in more)
        case EventType.APPROVAL:
            yield f"[{data['status']}] {visible(str(data['text']))}"
        case EventType.HAND_OFF:
            yield f"[hand_off] {visible(str(data['text']))}"
        case EventType.MESSAGE | EventType.STATUS | EventType.RATING:
            return
