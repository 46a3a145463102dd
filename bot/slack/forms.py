"""The forms that ask a person why: break glass, revoke, settle, stop, lift, flag, reset; pure."""

from agent.domain.approvals import ApprovalView, EvidenceKind, is_evidence_of
from agent.domain.wording import is_for_customer
from bot.slack import parts
from bot.slack.blocks import Block, fields, header, section, utc
from bot.slack.inputs import NOTE_MAX, about, field, menu, modal, radio, reason, typed
from bot.slack.names import Field, View
from bot.slack.states import phrase, tier_words, title
from bot.slack.targets import BreakerTarget, StopTarget
from bot.slack.text import clip, visible
from storage.breaker import StopNote
from storage.times import to_micros

DONE, NOT_DONE = "done", "not_done"
_OUTCOMES = {DONE: "Yes, it went through", NOT_DONE: "No, it did not"}
_EVIDENCE: dict[EvidenceKind, str] = {
    EvidenceKind.PROVIDER_RECORD: "The provider's own record",
    EvidenceKind.BANK_RECORD: "A record of the bank",
    EvidenceKind.PROVIDER_SUPPORT: "An answer of the provider's support",
    EvidenceKind.SERVER_LOG: "The log of the mail server",
}
_REFERENCE_MIN, _REFERENCE_MAX = 3, 200
_TEXT = 2_900
_TO_ONCALL = "Goes to the on-call channel and the trail."
_TO_TRAIL = "Kept in the trail."


def break_glass_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form of somebody on call who approves alone, above the tier."""
    approval = view.approval
    meaning = (
        f"The policy asks for {tier_words(approval.tier)}. You approve alone, at once. The "
        "on-call channel reads it, and the trail keeps it."
    )
    return modal(
        View.BREAK_GLASS,
        "Break the glass",
        [
            header(title(approval)),
            fields(parts.facts(view)),
            section(meaning),
            reason("Why nobody else can decide", _TO_ONCALL, focus=True),
        ],
        submit="Approve alone",
        metadata=about(approval, channel),
    )


def revoke_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form that takes an approval back before it is carried out."""
    approval = view.approval
    heard = "The customer reads this."
    return modal(
        View.REVOKE,
        "Revoke the approval",
        [
            header(title(approval)),
            fields(parts.facts(view)),
            section("It is called off for good, if nothing of it has begun. The agent is told."),
            reason("Why", heard if is_for_customer(approval) else "Shown on the card.", focus=True),
        ],
        submit="Revoke",
        metadata=about(approval, channel),
    )


def settle_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form for what somebody has seen of an outcome that is unknown."""
    approval = view.approval
    reference = typed(_REFERENCE_MAX, at_least=_REFERENCE_MIN, lines=False)
    meaning = (
        "Only for what the desk cannot find out by itself. The other side is asked once more "
        "first, and its own record wins over what you enter."
    )
    return modal(
        View.SETTLE,
        "Settle the outcome",
        [
            header(title(approval)),
            fields(parts.facts(view)),
            section(meaning),
            field(Field.OUTCOME, "Did it go through?", radio(_OUTCOMES)),
            field(
                Field.EVIDENCE,
                "What shows it?",
                menu(_evidence(approval.tool)),
            ),
            field(Field.REFERENCE, "Reference", reference, "The id or name of the record you saw."),
            field(
                Field.NOTE,
                "What you have seen",
                typed(NOTE_MAX),
                f"{_TO_TRAIL} For staff only.",
                optional=True,
            ),
        ],
        submit="Settle",
        metadata=about(approval, channel),
    )


def flag_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form that asks what was wrong about an automatic effect."""
    approval = view.approval
    return modal(
        View.REVIEW_FLAG,
        "Flag what was wrong",
        [
            header(title(approval)),
            fields(parts.facts(view)),
            section(
                f"{visible(phrase(approval))} has run already, and a flag does not take it back. "
                "The policy may let nothing more run by itself for this customer."
            ),
            reason("What was wrong", _TO_TRAIL, focus=True),
        ],
        submit="Flag",
        metadata=about(approval, channel),
    )


def stop_modal() -> Block:
    """Return the form that stops everything."""
    meaning = (
        "Nothing is carried out until the stop is lifted: what is approved waits, and what would "
        "run by itself is refused. Requests can still be decided."
    )
    return modal(
        View.STOP,
        "Stop everything",
        [section(meaning), reason("Why", _TO_ONCALL, focus=True)],
        submit="Stop all",
        metadata=StopTarget(since=None).text(),
    )


def lift_modal(note: StopNote) -> Block:
    """Return the form that lifts a stop, with who threw it and why."""
    meaning = "What was approved meanwhile runs at once, if it is still usable."
    return modal(
        View.LIFT,
        "Lift the stop",
        [
            section(stop_words(note)),
            section(meaning),
            reason("Why it is safe again", _TO_ONCALL, focus=True),
        ],
        submit="Lift",
        metadata=StopTarget(since=stop_mark(note)).text(),
    )


def reset_modal(target: BreakerTarget) -> Block:
    """Return the form that asks why the breaker is closed by hand."""
    meaning = (
        "Automatic refunds run again at once. What ran before the reset no longer counts against "
        "the limit."
    )
    return modal(
        View.BREAKER_RESET,
        "Reset the breaker",
        [section(meaning), reason("Reason", _TO_ONCALL, focus=True)],
        submit="Reset",
        metadata=target.text(),
    )


def _evidence(tool: str) -> dict[str, str]:
    """Return the evidence that there can be of a tool's effect: words by value."""
    return {kind.value: words for kind, words in _EVIDENCE.items() if is_evidence_of(kind, tool)}


def stop_words(note: StopNote) -> str:
    """Return who stopped everything, when and why."""
    at = "" if note.at is None else f" at {utc(note.at)}"
    why = f": {note.reason}" if note.reason else ""
    told = f"🛑 Everything is stopped, by {note.by or 'somebody'}{at}{why}"
    return clip(visible(told, lines=True), _TEXT)


def stop_mark(note: StopNote) -> int | None:
    """Return what tells one stop from another: when it was thrown, in microseconds UTC."""
    return None if note.at is None else to_micros(note.at)


def evidence_kind(value: str) -> EvidenceKind | None:
    """Return the kind of evidence of a chosen option, None for one that is not offered."""
    return next((known for known in EvidenceKind if known.value == value), None)
