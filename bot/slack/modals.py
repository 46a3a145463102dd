"""The modals about one request: reject, review, details, and what is said when it is too late."""

from agent.domain.approvals import ApprovalView, RejectCategory
from agent.domain.judgement import MIN_REASON
from agent.domain.wording import is_for_customer
from bot.slack import parts
from bot.slack.blocks import (
    Block,
    fields,
    header,
    section,
)
from bot.slack.inputs import NOTE_MAX, REASON_MAX, about, field, menu, modal, typed
from bot.slack.names import Field, View
from bot.slack.states import CATEGORY_WORDS, subject, title
from bot.slack.text import clip, visible

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


def notice_modal(heading: str, text: str) -> Block:
    """Return a view that only says something, such as who decided meanwhile."""
    return modal(View.NOTICE, heading, [section(clip(visible(text, lines=True), _TEXT))])


def reject_category(value: str) -> RejectCategory | None:
    """Return the category of a chosen option, None for one that is not offered."""
    return next((known for known in RejectCategory if known.value == value), None)
