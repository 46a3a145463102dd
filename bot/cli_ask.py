"""A person is asked about one request at the terminal: yes, no, an edit, or not now."""

from enum import Enum

import click

from agent.desk import Desk
from agent.domain.approvals import Approval, RejectCategory, Verdict
from agent.domain.decision import Decided, Edited, RefusalCode, Refused, Voted
from agent.domain.errors import InvalidInput
from bot.cli_describe import Sight, describe
from bot.cli_text import visible
from bot.cli_words import Changes, Word, answer_text, decide_on
from bot.cli_world import WORDS, World

_CATEGORY = click.Choice([category.value for category in RejectCategory])
# Refusals that the person can mend by saying it again.
_MENDABLE = frozenset({RefusalCode.INVALID, RefusalCode.REASON_REQUIRED})
_EDITABLE = frozenset({"issue_refund", "send_email"})
_END_OF_TEXT = "."


class Left(Enum):
    """What a person who gave no word that counts wants instead."""

    WAITING = "waiting"
    END = "end"


def ask(
    world: World, desk: Desk, sight: Sight, *, may_end: bool = False
) -> Decided | Voted | Edited | Left:
    """Show a request and take the word of the person who types, until one counts or none is.

    With `may_end` the person may also say that they look at no further one.
    """
    approval = sight.approval
    click.echo(describe(sight))
    keys = [key for key in "yne" if key != "e" or approval.tool in _EDITABLE]
    keys += ["q"] if may_end else []
    question = visible(f"Decide as {world.identity()} [{'/'.join(keys)}]")
    while isinstance(word := _word(question, keys, approval), Word):
        try:
            answer = decide_on(world, desk, approval, approval.id, word)
        except InvalidInput as wrong:
            complain("invalid", str(wrong))
            continue
        if not isinstance(answer, Refused):
            click.echo(answer_text(word.verdict, answer))
            return answer
        complain(answer.code.value, answer.message)
        if answer.code not in _MENDABLE:
            return Left.WAITING
    return word


def complain(code: str, message: str) -> None:
    """Write why something did not count to standard error."""
    click.echo(visible(f"{code}: {message}"), err=True)


def _word(question: str, keys: list[str], approval: Approval) -> Word | Left:
    """Return the decision that was typed."""
    offered = click.Choice([*keys, ""], case_sensitive=False)
    key = click.prompt(question, type=offered, default="", show_default=False, show_choices=False)
    match key:
        case "y":
            return Word(Verdict.APPROVE)
        case "n":
            category = click.prompt("category", type=_CATEGORY)
            reason = click.prompt("reason, which the customer reads", type=WORDS)
            return Word(Verdict.REJECT, reason=reason, category=RejectCategory(category))
        case "e":
            changes = _changes(approval)
            reason = click.prompt("reason", type=WORDS)
            return Word(Verdict.EDIT, reason=reason, changes=changes)
        case "q":
            return Left.END
        case _:
            return Left.WAITING


def _changes(approval: Approval) -> Changes:
    if approval.amount is not None:
        return Changes(amount=click.prompt("new amount"))
    subject = click.prompt(
        "new subject, Enter leaves it", type=WORDS, default="", show_default=False
    )
    click.echo(f"new text, ended by a line with {_END_OF_TEXT}; only that line leaves it")
    lines: list[str] = []
    while (line := _line()) != _END_OF_TEXT:
        lines.append(line)
    return Changes(subject=subject or None, body="\n".join(lines) if lines else None)


def _line() -> str:
    line: str = click.prompt("", prompt_suffix="| ", type=WORDS, default="", show_default=False)
    return line
