"""The modals: edit, reject, review, reset of the breaker, and what is said when it is too late."""

from agent.domain.approvals import Approval, ApprovalView, RejectCategory
from agent.domain.judgement import MIN_REASON
from bot.slack import parts
from bot.slack.blocks import (
    Block,
    actions,
    button,
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
from bot.slack.names import INPUT, Action, Field, View
from bot.slack.parts import People
from bot.slack.states import CATEGORY_WORDS, subject, title
from bot.slack.targets import BreakerTarget, ModalTarget, Target
from bot.slack.text import chunks, clip, visible

_TITLE, _BUTTON, _TEXT = 24, 24, 2_900
_REASON_MAX, _NOTE_MAX, _AMOUNT_MAX = 1_000, 2_000, 40
_BLOCKS = 100
_ON_CARD = "Shown on the card and kept in the trail."
_EDIT_MEANS = (
    "Saving replaces this request by a new one with its own hash. It is your approval too, unless "
    "the amount is above what the agent proposed."
)


def edit_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form that changes the amount of a pending refund."""
    approval = view.approval
    amount = approval.amount
    typed = _typing(_AMOUNT_MAX, lines=False) | {
        "initial_value": "" if amount is None else amount.plain(),
        "focus_on_load": True,
    }
    currency = "" if amount is None else f" in {amount.currency}"
    return _modal(
        View.EDIT,
        f"Edit {subject(approval).lower()}",
        [
            fields(parts.facts(view)),
            _input(Field.AMOUNT, f"Amount{currency}", typed, _money_hint(approval)),
            _input(Field.REASON, "Why", _typing(_REASON_MAX), _ON_CARD, optional=True),
            context(plain(_EDIT_MEANS)),
        ],
        submit="Save",
        metadata=_metadata(approval, channel),
    )


def reject_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form that asks why a request is turned down."""
    approval = view.approval
    select: Block = {
        "type": "static_select",
        "action_id": INPUT,
        "placeholder": plain("Pick one"),
        "options": [
            {"text": plain(text), "value": category.value}
            for category, text in CATEGORY_WORDS.items()
        ],
    }
    reason = _typing(_REASON_MAX, at_least=MIN_REASON)
    return _modal(
        View.REJECT,
        f"Reject {subject(approval).lower()}",
        [
            header(title(approval)),
            fields(parts.facts(view)),
            _input(Field.CATEGORY, "Category", select),
            _input(Field.REASON, "Reason", reason, "The customer reads this."),
            _input(Field.NOTE, "Note", _typing(_NOTE_MAX), "For staff only.", optional=True),
        ],
        submit="Reject",
        metadata=_metadata(approval, channel),
    )


def review_modal(view: ApprovalView, people: People, channel: str) -> Block:
    """Return everything about a pending request; submitting it approves."""
    approval = view.approval
    value = Target.of(approval).text()
    amount = "" if approval.amount is None else f" {approval.amount}"
    submit = f"Approve{amount}"
    return _modal(
        View.REVIEW,
        f"Review {subject(approval).lower()}",
        [
            *_everything(view, people),
            actions(
                f"act:{approval.id}:{approval.revision}",
                *([] if approval.amount is None else [button(Action.EDIT, "Edit", value)]),
                button(Action.REJECT, "Reject", value, "danger"),
            ),
        ],
        submit=submit if len(submit) <= _BUTTON else "Approve",
        metadata=_metadata(approval, channel),
    )


def details_modal(view: ApprovalView, people: People) -> Block:
    """Return everything about a request that nobody can decide any more."""
    return _modal(View.DETAILS, subject(view.approval), _everything(view, people))


def reset_modal(target: BreakerTarget) -> Block:
    """Return the form that asks why the breaker is closed by hand."""
    reason = _typing(_REASON_MAX, at_least=MIN_REASON) | {"focus_on_load": True}
    return _modal(
        View.BREAKER_RESET,
        "Reset the breaker",
        [
            section(
                "Automatic refunds run again at once. What ran before the reset no longer counts "
                "against the limit."
            ),
            _input(
                Field.REASON, "Reason", reason, hint="Goes to the on-call channel and the trail."
            ),
        ],
        submit="Reset",
        metadata=target.text(),
    )


def notice_modal(heading: str, text: str) -> Block:
    """Return a view that only says something, such as who decided meanwhile."""
    return _modal(View.NOTICE, heading, [section(clip(visible(text, lines=True), _TEXT))])


def _everything(view: ApprovalView, people: People) -> list[Block]:
    approval = view.approval
    edited = parts.difference(approval, people)
    money = parts.money(approval, classic=True)
    blocks = [
        header(title(approval)),
        *([] if edited is None else [edited]),
        fields(parts.facts(view)),
        parts.reasons(approval),
        *_words(view),
        *([] if money is None else [money]),
        rich(line(word("Exactly this will run", "bold"))),
        *(rich(code_block(piece)) for piece in chunks(parts.payload_text(approval), _TEXT)),
        rich(line(word("sha256 "), word(approval.payload_hash, "code"))),
        parts.small_print(approval),
    ]
    if len(blocks) >= _BLOCKS:
        raise ValueError(f"{len(blocks)} blocks do not fit a view")
    return blocks


def _words(view: ApprovalView) -> list[Block]:
    """Return the free texts whole, in pieces that Slack takes."""
    said = [rich(line(word("The customer wrote", "bold")))] if view.customer_words else []
    for number, text in enumerate(view.customer_words):
        said += [rich(line(word("and then", "italic")))] if number else []
        said += _quoted(text)
    return [*said, rich(parts.agent_heading(view.approval)), *_quoted(view.approval.model_reason)]


def _quoted(text: str) -> list[Block]:
    return [rich(quote(piece)) for piece in chunks(visible(text, lines=True), _TEXT)]


def _metadata(approval: Approval, channel: str) -> str:
    target = Target.of(approval)
    return ModalTarget(id=target.id, rev=target.rev, h=target.h, channel=channel[:64]).text()


def _typing(most: int, *, at_least: int = 0, lines: bool = True) -> Block:
    """Return an input for text; spaces count here, so the step counts again."""
    found: Block = {
        "type": "plain_text_input",
        "action_id": INPUT,
        "multiline": lines,
        "max_length": most,
    }
    return found | {"min_length": at_least} if at_least else found


def _money_hint(approval: Approval) -> str:
    before, proposed = approval.snapshot, approval.original_amount
    left = "" if before is None else f"{before.remaining} is left to refund on this order. "
    return f"{left}{'' if proposed is None else f'The agent proposed {proposed}.'}".strip()


def _input(
    block_id: Field, label: str, element: Block, hint: str = "", *, optional: bool = False
) -> Block:
    found: Block = {
        "type": "input",
        "block_id": block_id.value,
        "label": plain(label),
        "element": element,
        "optional": optional,
    }
    return found | {"hint": plain(hint)} if hint else found


def _modal(
    callback_id: View, heading: str, blocks: list[Block], *, submit: str = "", metadata: str = ""
) -> Block:
    view: Block = {
        "type": "modal",
        "callback_id": callback_id.value,
        "title": plain(heading[:_TITLE]),
        "close": plain("Cancel" if submit else "Close"),
        "blocks": blocks,
        "private_metadata": metadata,
    }
    return view | {"submit": plain(submit[:_BUTTON])} if submit else view


def reject_category(value: str) -> RejectCategory | None:
    """Return the category of a chosen option, None for one that is not offered."""
    return next((known for known in RejectCategory if known.value == value), None)
