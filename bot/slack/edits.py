"""The form that changes a request: its inputs by tool, and what was entered read back; pure."""

import re
from dataclasses import dataclass

from agent.domain.approvals import Approval, ApprovalView, amount_of
from agent.domain.decision import Edits
from agent.domain.errors import InvalidInput
from agent.domain.money import parse_money
from agent.steps.preview import Preview
from agent.tools.emails import MAX_SUBJECT
from bot.slack import parts
from bot.slack.blocks import (
    Block,
    Row,
    changed,
    context,
    emoji,
    fields,
    line,
    lines,
    plain,
    rich,
    section,
    word,
)
from bot.slack.inputs import REASON_MAX, TEXT_MAX, about, counted, field, live, modal, typed
from bot.slack.names import Field, View
from bot.slack.payloads import Form
from bot.slack.proposals import Email, email_of
from bot.slack.states import subject, tier_words
from bot.slack.text import visible

_AMOUNT_MAX, _ORDER_MAX = 40, 64
_ON_CARD = "Shown on the card and kept in the trail."
_SAVING = (
    "Saving replaces this request by a new one with its own hash and the old deadline. It counts "
    "as your approval too, unless {raised} or you raised it before: then somebody else decides."
)
_RAISED_REFUND = "the amount is above what the agent proposed, the order is another,"
_RAISED_EMAIL = "it goes to anybody whom the agent did not name,"
_TOO_LONG = (
    "The text is too long for a form of Slack, so it stays as it is here. It is changed through "
    "the API or with `agent pending edit`."
)
_SEVERAL = "Several addresses are parted by commas."
_BETWEEN = re.compile(r"[,;\s]+")
_NAMED = re.compile(r"([a-z_]+): ")
# The step's name of what is wrong, where the input is called otherwise.
_INPUTS: dict[str, str] = {"order_id": Field.ORDER}
_PREVIEW = "preview"
# How much of each text a preview shows: the card of the new request shows all of it.
_DIFFERENCE = 600


@dataclass(frozen=True, slots=True)
class Problem:
    """Why what was entered cannot be saved, in the input that is at fault."""

    where: Field
    words: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody has typed so far, and what saving it would do or why it cannot be saved.

    `found` is None while nothing is changed.
    """

    form: Form
    found: Preview | Problem | None


def edit_modal(view: ApprovalView, channel: str, draft: Draft | None = None) -> Block:
    """Return the form that changes a pending refund or e-mail, as it opens or as it is typed into.

    A problem stands below the input that it is about, what saving would change above Why.
    """
    approval = view.approval
    email = email_of(approval)
    raised = _RAISED_REFUND if email is None else _RAISED_EMAIL
    why = field(Field.REASON, "Why", typed(REASON_MAX), _ON_CARD, optional=True)
    saving = context(plain(_SAVING.format(raised=raised)))
    found = None if draft is None else draft.found
    entries = _refund_fields(approval) if email is None else _email_fields(email)
    shown = [block for entry in entries for block in (entry, *_problem_below(entry, found))]
    shown += [_changes(approval, found), why]
    return modal(
        View.EDIT,
        f"Edit {subject(approval).lower()}",
        [
            fields(parts.facts(view)),
            *(shown if draft is None else [_as_typed(block, draft.form) for block in shown]),
            saving,
        ],
        submit="Save",
        metadata=about(approval, channel),
    )


def is_untouched(approval: Approval, form: Form) -> bool:
    """Tell whether every input still says what it said when the form was opened."""
    email = email_of(approval)
    entries = _refund_fields(approval) if email is None else _email_fields(email)
    inputs = [entry for entry in entries if entry["type"] == "input"]
    return all(
        _mended(form.text(Field(entry["block_id"])))
        == _mended(entry["element"].get("initial_value", ""))
        for entry in inputs
    )


def _problem_below(entry: Block, found: Preview | Problem | None) -> list[Block]:
    if not isinstance(found, Problem) or entry.get("block_id") != found.where:
        return []
    told = rich(line(emoji("warning"), word(f" {visible(found.words)}", "bold")))
    return [told | {"block_id": f"problem:{found.where.value}"}]


def _as_typed(block: Block, form: Form) -> Block:
    """Return an input that says what was typed, and does not take the cursor to itself."""
    if block["type"] != "input":
        return block
    element = {
        name: value
        for name, value in block["element"].items()
        if name not in {"initial_value", "focus_on_load"}
    }
    entered = form.text(Field(block["block_id"]))
    return block | {"element": element | ({"initial_value": entered} if entered else {})}


def _changes(approval: Approval, found: Preview | Problem | None) -> Block:
    """Return what saving would change, before and after, and who then decides."""
    if isinstance(found, Problem):
        return context(plain("It cannot be saved like this.")) | {"block_id": _PREVIEW}
    if found is None:
        return context(plain("Nothing is changed yet.")) | {"block_id": _PREVIEW}
    rows, below = parts.changes(approval.payload, found.payload, _DIFFERENCE)
    decides = (
        "It counts as your approval too, if you hold the role."
        if found.counts
        else "Somebody else has to approve it."
    )
    heading: Row = [word("What saving changes", "bold")]
    then: Row = [word(f"The policy asks for {tier_words(found.tier)}. {decides}")]
    told = [heading, *rows, *_left_after(approval, found)]
    drawn = rich(lines(*told), *below, line(*then)) if below else rich(lines(*told, then))
    return drawn | {"block_id": _PREVIEW}


def _left_after(approval: Approval, found: Preview) -> list[Row]:
    """Return what would be left to refund on the order, before and after the edit."""
    was, now = approval.snapshot, found.snapshot
    before, after = approval.amount, amount_of(found.payload)
    if was is None or now is None or before is None or after is None:
        return []
    old, new = was.remaining.minus(before), now.remaining.minus(after)
    return [changed("Left to refund after it", str(old), str(new))]


def read_edits(approval: Approval, form: Form) -> Edits:
    """Return what was entered over a request; raises InvalidInput naming the step's field.

    Whether it can be is the step's to say.
    """
    email = email_of(approval)
    if email is not None:
        return _email_edits(email, form)
    if approval.amount is None:
        return Edits()
    order = form.text(Field.ORDER).strip()
    if not order:
        raise InvalidInput("order_id", "name the order")
    return Edits(
        amount=parse_money(form.text(Field.AMOUNT), approval.amount.currency),
        order_id=None if order == approval.order_id else order,
    )


def problem_of(approval: Approval | None, message: str) -> Problem:
    """Return which input of the form a refusal like `to: an address appears twice` is about.

    What no input of the form is about stands below the first.
    """
    offered = _offered(approval)
    found = _NAMED.match(message)
    named = "" if found is None else _INPUTS.get(found[1], found[1])
    where = next((one for one in offered if one == named), offered[0])
    words = message if found is None else message[found.end() :]
    return Problem(where, words)


def _offered(approval: Approval | None) -> list[Field]:
    email = None if approval is None else email_of(approval)
    if email is None:
        return [Field.AMOUNT, Field.ORDER]
    body = [Field.BODY] if _fits(email.body) else []
    return [Field.TO, Field.CC, Field.BCC, Field.SUBJECT, *body]


def _refund_fields(approval: Approval) -> list[Block]:
    amount = approval.amount
    currency = "" if amount is None else f" in {amount.currency}"
    typed_amount = typed(
        _AMOUNT_MAX, lines=False, initial="" if amount is None else amount.plain(), focus=True
    )
    typed_order = typed(_ORDER_MAX, lines=False, initial=approval.order_id or "")
    return [
        live(field(Field.AMOUNT, f"Amount{currency}", typed_amount, _money_hint(approval))),
        live(field(Field.ORDER, "Order", typed_order, "Another order of the same customer.")),
    ]


def _money_hint(approval: Approval) -> str:
    before, proposed = approval.snapshot, approval.original_amount
    left = "" if before is None else f"{before.remaining} is left to refund on this order. "
    return f"{left}{'' if proposed is None else f'The agent proposed {proposed}.'}".strip()


def _email_fields(email: Email) -> list[Block]:
    # The step counts characters, and Slack may count some of them twice.
    subject_line = typed(2 * MAX_SUBJECT, lines=False, initial=email.subject)
    found = [
        live(field(Field.TO, "To", _addresses(email.to), _SEVERAL)),
        live(field(Field.CC, "Cc", _addresses(email.cc), optional=True)),
        live(field(Field.BCC, "Bcc", _addresses(email.bcc), optional=True)),
        live(field(Field.SUBJECT, "Subject", subject_line)),
    ]
    if not _fits(email.body):
        return [*found, section(_TOO_LONG)]
    text = typed(TEXT_MAX, initial=email.body, focus=True)
    return [*found, live(field(Field.BODY, "Text", text))]


def _addresses(known: list[str]) -> Block:
    return typed(TEXT_MAX, lines=False, initial=", ".join(known))


def _fits(body: str) -> bool:
    """Tell whether Slack takes a text as the initial value of an input, counted as Slack does."""
    return counted(body) <= TEXT_MAX


def _email_edits(email: Email, form: Form) -> Edits:
    to = _read_addresses(form, Field.TO)
    if not to:
        raise InvalidInput(Field.TO, "name at least one address")
    return Edits(
        to=to,
        cc=_read_addresses(form, Field.CC),
        bcc=_read_addresses(form, Field.BCC),
        subject=_changed(form.text(Field.SUBJECT), email.subject),
        body=_changed(form.text(Field.BODY), email.body) if _fits(email.body) else None,
    )


def _read_addresses(form: Form, name: Field) -> tuple[str, ...]:
    return tuple(one for one in _BETWEEN.split(form.text(name)) if one)


def _changed(entered: str, stored: str) -> str | None:
    """Return a text that a person changed; None for one that has only been through Slack.

    Slack's client trims what it sends and mends line ends, and nobody has asked for that.
    """
    return None if _mended(entered) == _mended(stored) else entered


def _mended(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
