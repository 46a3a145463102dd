"""`agent pending …` and `agent resume`: a person's word, given on the command line."""

from typing import IO, TypeAlias

import click

from agent.desk import Desk
from agent.domain.approvals import RejectCategory, Status, Verdict
from agent.domain.decision import Refused
from bot.cli_correct import ask, ask_again, revoke, settle
from bot.cli_describe import Sight, describe
from bot.cli_queue import review
from bot.cli_text import json_text, needs, pairs, table
from bot.cli_words import Changes, Word, answer_text, decide_on, find, follow, standing
from bot.cli_world import CODE, WORDS, NotDone, World
from bot.shapes import approval_json, rfc3339

_CATEGORY = click.Choice([category.value for category in RejectCategory])
_STATUS = click.Choice([status.value for status in Status])
_VERDICTS = {
    "approve": Verdict.APPROVE,
    "approved": Verdict.APPROVE,
    "reject": Verdict.REJECT,
    "rejected": Verdict.REJECT,
}
# What an option holds that may be left out, or be repeated.
_Typed: TypeAlias = str | tuple[str, ...] | None
_request = click.argument("request_id", metavar="ID", type=CODE)
_hash = click.option(
    "--hash", "shown_hash", type=CODE, help="The hash of the payload that you have seen."
)


@click.group()
def pending() -> None:
    """Decide on requests that wait, and see what became of them.

    ID is an approval's, or a run's that has exactly one open approval.

    There is no approve-all: each decision binds the hash of one payload that a person has seen,
    and nobody has seen those that come in meanwhile.
    """


@pending.command("list")
@click.option("--status", type=_STATUS, default=Status.PENDING.value, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def list_pending(world: World, status: str, *, as_json: bool) -> None:
    """List what waits, or what has another status, oldest first.

    Takes no role.
    """
    with world.open_desk() as desk:
        found = standing(desk, Status(status))
    if as_json:
        click.echo(json_text([approval_json(sight.view) for sight in found]))
        return
    header = ("ID", "CREATED", "EXPIRES", "TOOL", "AMOUNT", "ORDER", "NEEDS", "VOTES", "REASONS")
    click.echo(table(header, [_line(sight) for sight in found]))


@pending.command()
@_request
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def show(world: World, request_id: str, *, as_json: bool) -> None:
    """Show a request whole, with its hash.

    Of an unknown outcome: each try and its answer, the looks at the provider's book, when it is
    asked again, and what a person can do and when. Takes no role.
    """
    with world.open_desk() as desk:
        sight = find(desk, request_id)
    if sight is None:
        raise NotDone("not_found", f"There is no request {request_id}.")
    click.echo(json_text(approval_json(sight.view)) if as_json else describe(sight))


@pending.command()
@_request
@_hash
@click.option("--yes", is_flag=True, help="Do not ask; needs --hash.")
@click.option("--break-glass", is_flag=True, help="Decide alone, above the tier; needs --reason.")
@click.option("--reason", type=WORDS, default="", help="With --break-glass: for people on call.")
@click.pass_obj
def approve(
    world: World,
    request_id: str,
    shown_hash: str | None,
    reason: str,
    *,
    yes: bool,
    break_glass: bool,
) -> None:
    """Show a request, ask, approve what was shown.

    The hash that was shown is the one that is approved. Takes the role of the request's tier;
    with --break-glass the role oncall, and everybody on call is told.
    """
    if yes and shown_hash is None:
        raise click.UsageError("--yes needs --hash: say which payload you have seen.")
    if break_glass and not reason:
        raise click.UsageError("--break-glass needs --reason: say why nobody else can decide.")
    word = Word(Verdict.APPROVE, shown_hash, reason, break_glass=break_glass)
    with world.open_desk() as desk:
        sight = find(desk, request_id)
        if sight is not None and sight.approval.status is Status.PENDING and not yes:
            click.echo(describe(sight))
            click.confirm("Approve exactly this?", abort=True)
        _settle(world, desk, request_id, sight, word)


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

    The customer reads the reason, staff alone the note. Takes the role of the request's tier.
    """
    word = Word(Verdict.REJECT, shown_hash, reason, RejectCategory(category), note)
    _show_and_settle(world, request_id, word)


@pending.command()
@_request
@_hash
@click.option("--amount", help="Of a refund: the new amount, e.g. 120.00.")
@click.option("--order", "order_id", type=WORDS, help="Of a refund: the order that is meant.")
@click.option("--to", type=WORDS, multiple=True, help="Of an e-mail: a recipient; repeat it.")
@click.option("--cc", type=WORDS, multiple=True, help="The same for Cc; '' for nobody.")
@click.option("--bcc", type=WORDS, multiple=True, help="The same for Bcc; '' for nobody.")
@click.option("--subject", type=WORDS, help="Of an e-mail: the new subject.")
@click.option("--body", type=WORDS, help="Of an e-mail: the new text, one line.")
@click.option("--body-file", type=click.File(encoding="utf-8"), help="The same from a file, or -.")
@click.option("--reason", type=WORDS, required=True)
@click.pass_obj
def edit(
    world: World,
    /,
    request_id: str,
    shown_hash: str | None,
    reason: str,
    body: str | None,
    body_file: IO[str] | None,
    **typed: _Typed,
) -> None:
    """Replace a request by a changed one.

    The new request has an id and a hash of its own and the old deadline. Your edit is your vote
    for it, unless it gives away more than the model asked for, or to somebody else, or you raised
    it before. Takes the role of the request's tier. A fraud flag is not edited.
    """
    if body is not None and body_file is not None:
        raise click.UsageError("--body and --body-file are the same thing: give one.")
    changes = Changes(
        amount=_text(typed["amount"]),
        order_id=_text(typed["order_id"]),
        to=_addresses(typed["to"]),
        cc=_addresses(typed["cc"]),
        bcc=_addresses(typed["bcc"]),
        subject=_text(typed["subject"]),
        body=body if body_file is None else _content(body_file),
    )
    if changes == Changes():
        raise click.UsageError("Say what to change, e.g. --amount or --subject.")
    _show_and_settle(world, request_id, Word(Verdict.EDIT, shown_hash, reason, changes=changes))


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
    for the payload that you have seen. Takes the role of the request's tier.
    """
    verdict = _VERDICTS[decision]
    why = RejectCategory(category) if verdict is Verdict.REJECT else None
    _show_and_settle(world, run_id, Word(verdict, shown_hash, reason, why))


def _show_and_settle(world: World, request_id: str, word: Word) -> None:
    with world.open_desk() as desk:
        sight = find(desk, request_id)
        if sight is not None:
            click.echo(describe(sight))
        _settle(world, desk, request_id, sight, word)


def _settle(world: World, desk: Desk, request_id: str, sight: Sight | None, word: Word) -> None:
    """Decide, say so, and carry out what follows."""
    approval = None if sight is None else sight.approval
    answer = decide_on(world, desk, approval, request_id, word)
    if isinstance(answer, Refused):
        raise NotDone(answer.code.value, answer.message)
    click.echo(pairs([("decision", answer_text(word.verdict, answer))]))
    follow(world, desk, answer.approval)


def _text(typed: _Typed) -> str | None:
    return typed if isinstance(typed, str) else None


def _addresses(typed: _Typed) -> tuple[str, ...] | None:
    """Return the addresses, None when the option was left out; an empty one stands for nobody."""
    return tuple(filter(None, typed)) if isinstance(typed, tuple) and typed else None


def _content(file: IO[str]) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise NotDone("invalid", "body: the file is not text in UTF-8.") from error


def _approving(sight: Sight) -> int:
    """Return how many people have approved, of as many as are needed."""
    people = {vote.actor_id for vote in sight.view.votes if vote.verdict == "approve"}
    return min(len(people), sight.approval.tier.approvals_needed)


def _line(sight: Sight) -> tuple[object, ...]:
    approval = sight.approval
    return (
        approval.id,
        rfc3339(approval.created_at),
        rfc3339(approval.expires_at),
        approval.tool,
        approval.amount or "",
        approval.order_id or "",
        needs(approval),
        f"{_approving(sight)}/{approval.tier.approvals_needed}",
        ",".join(finding.code.value for finding in approval.findings),
    )


for _command in (review, ask, revoke, settle, ask_again):
    pending.add_command(_command)
