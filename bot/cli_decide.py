"""`agent pending …` and `agent resume`: a person's word, given on the command line."""

from dataclasses import dataclass

import click

from agent.desk import Desk
from agent.domain.approvals import Approval, ApprovalView, RejectCategory, Status, Verdict
from agent.domain.decision import DecideAnswer, Decided, Decision, Edited, Refused, Voted
from agent.domain.errors import InvalidInput
from agent.domain.ids import ApprovalId, RunId
from agent.domain.money import Money, parse_money
from agent.domain.roles import Channel
from agent.steps.decide import decide
from bot.cli_text import describe, flatten, json_text, needs, pairs, table
from bot.cli_work import carry_on
from bot.cli_world import CODE, WORDS, NotDone, World
from bot.shapes import approval_json, rfc3339
from storage import approvals, decisions

_PAGE = 200
_CATEGORY = click.Choice([category.value for category in RejectCategory])
_VERDICTS = {
    "approve": Verdict.APPROVE,
    "approved": Verdict.APPROVE,
    "reject": Verdict.REJECT,
    "rejected": Verdict.REJECT,
}
_request = click.argument("request_id", metavar="ID", type=CODE)
_hash = click.option(
    "--hash", "shown_hash", type=CODE, help="The hash of the payload that you have seen."
)


@dataclass(frozen=True, slots=True)
class Word:
    """What a person says about a request; `amount` is decimal text in the order's currency."""

    verdict: Verdict
    shown_hash: str | None = None
    reason: str = ""
    category: RejectCategory | None = None
    note: str = ""
    amount: str | None = None


@click.group()
def pending() -> None:
    """Decide on requests that wait for people.

    ID is an approval's, or a run's that has exactly one open approval.

    There is no approve-all: each decision binds the hash of one payload that a person has seen,
    and nobody has seen those that come in meanwhile.
    """


@pending.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def list_pending(world: World, *, as_json: bool) -> None:
    """List what waits, oldest first."""
    with world.open_desk() as desk:
        views = _waiting(desk)
    if as_json:
        click.echo(json_text([approval_json(view) for view in views]))
        return
    header = ("ID", "CREATED", "EXPIRES", "TOOL", "AMOUNT", "ORDER", "NEEDS", "VOTES", "REASONS")
    click.echo(table(header, [_line(view) for view in views]))


@pending.command()
@_request
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def show(world: World, request_id: str, *, as_json: bool) -> None:
    """Show a request whole, with its hash."""
    with world.open_desk() as desk:
        view = _find(desk, request_id)
    if view is None:
        raise NotDone("not_found", f"There is no request {request_id}.")
    click.echo(json_text(approval_json(view)) if as_json else describe(view))


@pending.command()
@_request
@_hash
@click.option("--yes", is_flag=True, help="Do not ask; needs --hash.")
@click.pass_obj
def approve(world: World, request_id: str, shown_hash: str | None, *, yes: bool) -> None:
    """Show a request, ask, approve what was shown.

    The hash that was shown is the one that is approved.
    """
    if yes and shown_hash is None:
        raise click.UsageError("--yes needs --hash: say which payload you have seen.")
    with world.open_desk() as desk:
        view = _find(desk, request_id)
        if view is not None and view.approval.status is Status.PENDING and not yes:
            click.echo(describe(view))
            click.confirm("Approve exactly this?", abort=True)
        _settle(world, desk, request_id, view, Word(Verdict.APPROVE, shown_hash))


@pending.command()
@_request
@_hash
@click.option("--category", type=_CATEGORY, required=True)
@click.option("--reason", type=WORDS, required=True, help="The customer reads it.")
@click.option("--note", type=WORDS, default="", help="For staff only.")
@click.pass_obj
def reject(
    world: World, request_id: str, shown_hash: str | None, category: str, reason: str, note: str
) -> None:
    """Turn a request down.

    The customer reads the reason, staff alone the note.
    """
    word = Word(Verdict.REJECT, shown_hash, reason, RejectCategory(category), note)
    _show_and_settle(world, request_id, word)


@pending.command()
@_request
@_hash
@click.option("--amount", required=True, help="The new amount, e.g. 120.00.")
@click.option("--reason", type=WORDS, required=True)
@click.pass_obj
def edit(world: World, request_id: str, shown_hash: str | None, amount: str, reason: str) -> None:
    """Replace a request by one of another amount.

    The new request has an id and a hash of its own and the old deadline. Your edit is your vote
    for it, unless the amount is above what the model asked for or you raised it before.
    """
    word = Word(Verdict.EDIT, shown_hash, reason, amount=amount)
    _show_and_settle(world, request_id, word)


@click.command()
@click.option("--run-id", "run_id", metavar="RUN", type=CODE, required=True)
@click.option("--decision", type=click.Choice(list(_VERDICTS)), required=True)
@click.option("--reason", type=WORDS, default="", help="Needed to reject: the customer reads it.")
@click.option("--category", type=_CATEGORY, default=RejectCategory.OTHER.value, show_default=True)
@_hash
@click.pass_obj
def resume(
    world: World, run_id: str, decision: str, reason: str, category: str, shown_hash: str | None
) -> None:
    """Decide on a parked run's one open request.

    Shows the request, does not ask, and lets the run go on. With --hash the decision counts only
    for the payload that you have seen.
    """
    verdict = _VERDICTS[decision]
    why = RejectCategory(category) if verdict is Verdict.REJECT else None
    _show_and_settle(world, run_id, Word(verdict, shown_hash, reason, why))


def decide_on(
    world: World, desk: Desk, approval: Approval | None, request_id: str, word: Word
) -> DecideAnswer:
    """Give the word as the person who types; an unknown request is answered by the desk as well.

    Raises InvalidInput for an amount that is none.
    """
    shown = "" if approval is None else approval.payload_hash
    return decide(
        desk,
        Decision(
            approval_id=ApprovalId(request_id) if approval is None else approval.id,
            identity=world.identity(),
            verdict=word.verdict,
            shown_hash=shown if word.shown_hash is None else word.shown_hash,
            channel=Channel.CLI,
            reason=word.reason,
            category=word.category,
            note=word.note,
            amount=_amount(approval, word.amount),
        ),
    )


def answer_text(verdict: Verdict, answer: Decided | Voted | Edited) -> str:
    """Return what a word that counted has done."""
    match answer:
        case Decided(approval=approval):
            return f"{verdict} stands for {approval.id}"
        case Voted(approval=approval, votes=votes):
            needed = approval.tier.approvals_needed
            return f"{verdict} is vote {votes} of {needed}; {approval.id} still waits"
        case Edited(approval=approval, superseded=old):
            return f"{verdict}: {approval.id} with {approval.amount} replaces {old.id}"


def _show_and_settle(world: World, request_id: str, word: Word) -> None:
    with world.open_desk() as desk:
        view = _find(desk, request_id)
        if view is not None:
            click.echo(describe(view))
        _settle(world, desk, request_id, view, word)


def _settle(
    world: World, desk: Desk, request_id: str, view: ApprovalView | None, word: Word
) -> None:
    """Decide, say so, and carry out what follows."""
    approval = None if view is None else view.approval
    answer = decide_on(world, desk, approval, request_id, word)
    if isinstance(answer, Refused):
        raise NotDone(answer.code.value, answer.message)
    click.echo(pairs([("decision", answer_text(word.verdict, answer))]))
    decided = answer.approval
    carry_on(world, desk, decided.run_id)
    with desk.store.transaction(write=False) as tx:
        now = approvals.get(tx, decided.id) or decided
    result = [] if now.result is None else flatten("result", now.result)
    click.echo(pairs([("status", now.status.value), *result]))


def _amount(approval: Approval | None, text: str | None) -> Money | None:
    if approval is None or text is None:
        return None
    if approval.amount is None:
        raise InvalidInput("amount", "this request has none")
    return parse_money(text, approval.amount.currency)


def _find(desk: Desk, request_id: str) -> ApprovalView | None:
    """Return the approval of an id, or the one that a run's id stands for.

    A run stands for its open approval, or for its newest when none is open.
    """
    with desk.store.transaction(write=False) as tx:
        found = approvals.get(tx, ApprovalId(request_id))
        if found is None:
            found = _of_run(approvals.of_run(tx, RunId(request_id)))
        return None if found is None else decisions.view(tx, found)


def _of_run(every: tuple[Approval, ...]) -> Approval | None:
    waiting = [approval for approval in every if approval.status is Status.PENDING]
    if len(waiting) > 1:
        ids = ", ".join(approval.id for approval in waiting)
        raise NotDone("ambiguous", f"The run has {len(waiting)} open approvals: {ids}")
    return next(reversed(waiting or every), None)


def _waiting(desk: Desk) -> list[ApprovalView]:
    views: list[ApprovalView] = []
    with desk.store.transaction(write=False) as tx:
        after = ""
        while page := approvals.page(tx, Status.PENDING, after, _PAGE):
            views += [decisions.view(tx, approval) for approval in page]
            after = page[-1].id
    return views


def _line(view: ApprovalView) -> tuple[object, ...]:
    approval = view.approval
    return (
        approval.id,
        rfc3339(approval.created_at),
        rfc3339(approval.expires_at),
        approval.tool,
        approval.amount or "",
        approval.order_id or "",
        needs(approval),
        f"{len(view.votes)}/{approval.tier.approvals_needed}",
        ",".join(finding.code.value for finding in approval.findings),
    )
