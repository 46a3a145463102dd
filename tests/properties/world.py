"""A desk to which anything may happen: its people, customers, provider and restarts."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from typing_extensions import override

from agent.desk import Desk
from agent.domain.approvals import Approval, EvidenceKind, RejectCategory, Status, Verdict
from agent.domain.decision import DecideAnswer, Edits
from agent.domain.heartbeats import REPLICA
from agent.domain.ids import ApprovalId, ConversationId, CustomerId
from agent.domain.money import Money
from agent.domain.roles import Channel, Identity, Role
from agent.ports import (
    Accepted,
    ChatAnswer,
    ChatRequest,
    Declined,
    Hear,
    NoClearAnswer,
    PaymentAnswer,
    ProviderStatus,
    RefundRequest,
    unheard,
)
from agent.providers.embedded_flags import EmbeddedFlags
from agent.providers.ledger_payments import LedgerPayments
from agent.steps.announce import announce
from agent.steps.execute import execute_due
from agent.steps.receive import receive
from agent.steps.sweep import sweep
from agent.steps.turn import take_turn
from bot.sandbox.payments_faults import FaultyPayments
from storage.engine import open_engine
from storage.heartbeats import beat, forget
from storage.outside_tables import ledger_payments, ledger_refunds
from storage.transaction import Store
from tests.support.desk import ScriptedModel, Story, tell_story
from tests.support.doubles import UNPACED, CountingIds, HandClock

STAFF_NOTE = "staff-note-that-no-customer-reads"
_MEMORY = Path("/dev/shm")  # noqa: S108 - memory, where it is there: every commit is synced


class Killed(BaseException):
    """The process dies here."""


class MortalPayments(FaultyPayments):
    """A provider during whose next calls the desk may die, before or after it has acted."""

    dies: str | None = None
    is_down = False

    @override
    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        return NoClearAnswer("down") if self.is_down else super().find(request)

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        if self.is_down:
            return NoClearAnswer("down")
        how, self.dies = self.dies, None
        if how == "before":
            raise Killed
        answer = super().refund(request)
        if how == "after":
            raise Killed
        return answer


class TalkingModel(ScriptedModel):
    """A model that always has words when nothing else was scripted."""

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        if not self.answers:
            self.says("I have looked into it.")
        return super().complete(request, hear)


@dataclass
class World:
    """The desk under test with everything around it; SQLite in memory where there is some."""

    folder: Path
    url: str
    story: Story
    payments: MortalPayments
    staff: dict[str, Identity]
    chats: dict[str, ConversationId] = field(default_factory=dict)
    restarts: int = 0

    @property
    def desk(self) -> Desk:
        """Return the desk as it runs now."""
        return self.story.desk

    def close(self) -> None:
        """Forget everything."""
        self.desk.store.close()
        shutil.rmtree(self.folder)

    def survives(self, work: Callable[[], object]) -> None:
        """Do something; if the process dies of it, start again as another one."""
        try:
            work()
        except Killed:
            self.restarts_desk()

    def restarts_desk(self) -> None:
        """Let the replica die and another one take its place over the same database."""
        self.restarts += 1
        self.story.model.answers.clear()
        old = self.desk
        with old.store.transaction() as tx:
            forget(tx, old.replica)
        self.story.desk = replace(old, replica=f"srv-{self.restarts}")
        self.shows_life()

    def shows_life(self) -> None:
        """Beat the heart of this replica."""
        with self.desk.store.transaction() as tx:
            beat(tx, self.desk.replica, REPLICA, self.story.clock.now())

    def chat_of(self, customer: str) -> ConversationId:
        """Return a conversation of the customer, the same each time."""
        if customer not in self.chats:
            self.chats[customer] = self.story.opens_chat(customer)
        return self.chats[customer]

    def asks(self, customer: str, call: tuple[str, str, str]) -> None:
        """Let a customer write, and the model make one call of a tool."""
        # What waits first would take the script for its own.
        while self.turns():
            pass
        self.story.model.calls(call)
        self.story.model.says("I have asked.")
        receive(self.desk, self.chat_of(customer), self.desk.ids.new("msg"), "please")
        self.turns()

    def turns(self) -> bool:
        """Take one turn, and tell whether there was one."""
        taken = False

        def take() -> None:
            nonlocal taken
            taken = take_turn(self.desk)

        self.survives(take)
        return taken

    def works(self, kind: str) -> None:
        """Let one worker do one piece of work."""
        self.shows_life()
        match kind:
            case "turn":
                self.turns()
            case "execute":
                self.survives(lambda: execute_due(self.desk))
            case "deliver":
                announce(self.desk, self.story.notifier, UNPACED)
            case _:
                self.survives(lambda: sweep(self.desk))

    def rows(self) -> list[Approval]:
        """Return every approval there is, oldest first."""
        return [row for status in Status for row in self.story.all(status)]

    def decides(self, who: str, row: Approval, word: Verdict, *, glass: bool) -> DecideAnswer:
        """Let a person give a word about a row as it was shown."""
        return self.story.decides(
            self.staff[who],
            word,
            row,
            reason="a reason that fits",
            category=RejectCategory.OTHER,
            note=STAFF_NOTE,
            break_glass=glass,
        )

    def edits(self, who: str, row: Approval, amount: Money | None, order: str | None) -> None:
        """Let a person edit a row."""
        self.story.decides(
            self.staff[who], Verdict.EDIT, row, edits=Edits(amount=amount, order_id=order)
        )

    def disputes(self, order_id: str) -> None:
        """Let the bank open a dispute about an order's payment."""
        with self.desk.store.transaction() as tx:
            tx.change(
                ledger_payments.update()
                .where(ledger_payments.c.order_id == order_id)
                .values(disputed=1)
            )

    def bank_returns(self, row: Approval) -> None:
        """Let the provider's book show that a refund came back."""
        with self.desk.store.transaction() as tx:
            tx.change(
                ledger_refunds.update()
                .where(ledger_refunds.c.key == row.idempotency_key)
                .values(status=ProviderStatus.FAILED.value)
            )


PEOPLE: dict[str, tuple[Role, ...]] = {
    "ana": (Role.REFUND_APPROVER,),
    "ben": (Role.REFUND_APPROVER,),
    "mia": (Role.REFUND_MANAGER,),
    "max": (Role.REFUND_MANAGER,),
    "olu": (Role.ONCALL,),
    "sam": (),
}
EVIDENCE = tuple(EvidenceKind)


def new_world(template: Path) -> World:
    """Return a world over a copy of a migrated SQLite file."""
    where = str(_MEMORY) if _MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="desk-world-", dir=where))
    path = folder / "desk.db"
    shutil.copyfile(template, path)
    url = f"sqlite:///{path}"
    store, clock, ids = Store(open_engine(url)), HandClock(), CountingIds()
    story = tell_story(store, clock, ids)
    payments = MortalPayments(LedgerPayments(store, clock, ids), wait=lambda _seconds: None)
    story.model = TalkingModel()
    story.payments = payments
    flags = EmbeddedFlags(store, clock, ids)
    story.desk = replace(story.desk, payments=payments, model=story.model, flags=flags)
    staff = {
        name: story.hire(
            name,
            *roles,
            identities=(Identity("customer", "cus_ben"),) if name == "ben" else (),
        )
        for name, roles in PEOPLE.items()
    }
    return World(folder, url, story, payments, staff)


__all__ = [
    "EVIDENCE",
    "PEOPLE",
    "STAFF_NOTE",
    "ApprovalId",
    "Channel",
    "CustomerId",
    "World",
    "new_world",
]
