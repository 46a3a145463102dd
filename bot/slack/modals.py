"""The modals about one request: reject, review, details, and what is said when it is too late."""

from agent.domain.approvals import ApprovalView, RejectCategory
from agent.domain.judgement import MIN_REASON
from agent.domain.wording import is_for_customer
from bot.slack import buttons, parts
from bot.slack.blocks import (
    Block,
    actions,
    code_block,
    context,
    fields,
    header,
    line,
    plain,
    quote,
    rich,
    section,
    word,
)
from bot.slack.inputs import NOTE_MAX, REASON_MAX, about, field, menu, modal, typed
from bot.slack.names import Field, View
from bot.slack.parts import People
from bot.slack.states import CATEGORY_WORDS, can_edit, subject, title
from bot.slack.text import chunks, clip, visible

_BUTTON, _TEXT = 24, 2_900
_BLOCKS = 100
_CUSTOMER_READS = "The customer reads this."
_AGENT_READS = "The agent reads this; the customer hears nothing of it."


def reject_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form that asks why a request is turned down."""
    approval = view.approval
    options = {category.value: words for category, words in CATEGORY_WORDS.items()}
    read_by = _CUSTOMER_READS if is_for_customer(approval) else _AGENT_READS
    reason = typed(REASON_MAX, at_least=MIN_REASON)
    return modal(
        View.REJECT,
        f"Reject {subject(approval).lower()}",
        [
            header(title(approval)),
            fields(parts.facts(view)),
            field(Field.CATEGORY, "Category", menu(options)),
            field(Field.REASON, "Reason", reason, read_by),
            field(Field.NOTE, "Note", typed(NOTE_MAX), "For staff only.", optional=True),
        ],
        submit="Reject",
        metadata=about(approval, channel),
    )


def review_modal(
    view: ApprovalView, people: People, channel: str, *, may_break_glass: bool
) -> Block:
    """Return everything about a pending request; submitting it approves.

    With `may_break_glass` it offers to approve alone, above the tier.
    """
    approval = view.approval
    amount = "" if approval.amount is None else f" {approval.amount}"
    submit = f"Approve{amount}"
    return modal(
        View.REVIEW,
        f"Review {subject(approval).lower()}",
        [
            *_everything(view, people),
            actions(
                f"act:{approval.id}:{approval.revision}",
                *([buttons.edit_button(approval)] if can_edit(approval) else []),
                buttons.reject_button(approval),
                *([buttons.break_glass_button(approval)] if may_break_glass else []),
            ),
        ],
        submit=submit if len(submit) <= _BUTTON else "Approve",
        metadata=about(approval, channel),
    )


def details_modal(view: ApprovalView, people: People) -> Block:
    """Return everything about a request that nobody can decide any more."""
    return modal(View.DETAILS, subject(view.approval), _everything(view, people))


def revealed_modal(view: ApprovalView) -> Block:
    """Return what a card masks, whole: who the customer is, and what they and the agent said."""
    return modal(
        View.REVEALED,
        "Not masked",
        [
            fields(parts.facts(view, revealed=True)),
            *_words(view, revealed=True),
            context(plain("The trail keeps that you have seen this.")),
        ],
    )


def notice_modal(heading: str, text: str) -> Block:
    """Return a view that only says something, such as who decided meanwhile."""
    return modal(View.NOTICE, heading, [section(clip(visible(text, lines=True), _TEXT))])


def reject_category(value: str) -> RejectCategory | None:
    """Return the category of a chosen option, None for one that is not offered."""
    return next((known for known in RejectCategory if known.value == value), None)


def _everything(view: ApprovalView, people: People) -> list[Block]:
    approval = view.approval
    # Cut here only: what it was changed to stands whole below.
    edited = parts.difference(approval, people, _TEXT)
    blocks = [
        header(title(approval)),
        *([] if edited is None else [edited]),
        parts.facts_block(view, offer_reveal=True),
        *parts.money(approval, classic=True),
        parts.reasons(approval),
        *parts.substance(view),
        *_words(view),
        rich(line(word("Exactly this will run", "bold"))),
        *(rich(code_block(piece)) for piece in chunks(parts.payload_text(approval), _TEXT)),
        rich(line(word("sha256 "), word(approval.payload_hash, "code"))),
        parts.small_print(approval),
    ]
    if len(blocks) >= _BLOCKS:
        raise ValueError(f"{len(blocks)} blocks do not fit a view")
    return blocks


def _words(view: ApprovalView, *, revealed: bool = False) -> list[Block]:
    """Return the free texts whole, in pieces that Slack takes; masked unless `revealed`."""

    def quoted(text: str) -> list[Block]:
        return _quoted(text if revealed else parts.masked(view, text))

    said = [rich(line(word("The customer wrote", "bold")))] if view.customer_words else []
    for number, text in enumerate(view.customer_words):
        said += [rich(line(word("and then", "italic")))] if number else []
        said += quoted(text)
    reason = quoted(view.approval.model_reason)
    return [rich(parts.agent_heading(view.approval)), *reason, *said]


def _quoted(text: str) -> list[Block]:
    return [rich(quote(piece)) for piece in chunks(visible(text, lines=True), _TEXT)]
