"""What customers read about their requests, in words that are true for each outcome."""

from typing import assert_never

from agent.domain.approvals import Approval, Status
from agent.domain.languages import ENGLISH, Language
from agent.domain.payload import Payload
from agent.domain.words import words_in
from agent.domain.words.shape import Thing, Words

# What stands in the transcript, where the model reads it and the customer does not.
STOPPED = "Stopped."
# What the customer never hears of: neither chip nor message.
CONFIDENTIAL = frozenset({"flag_for_fraud"})
_FIRST_STRONG, _POP = "\u2068", "\u2069"


def is_for_customer(approval: Approval) -> bool:
    """Tell whether the customer hears of the request at all."""
    return approval.tool not in CONFIDENTIAL


def chip_text(
    approval: Approval, reason: str = "", language: Language = ENGLISH, *, stopped: bool = False
) -> str:
    """Return the line on the customer's chip for the approval as it stands.

    `reason` is the reviewer's customer-safe sentence of a rejection; `stopped` tells that nothing
    executes at present.
    """
    words = words_in(language)
    said = _chip(words, approval, stopped=stopped).format(
        what=_title(words, approval), way=_thing(words, approval).way
    )
    if not reason or approval.status not in {Status.REJECTED, Status.CANCELLED}:
        return said
    if approval.status is Status.REJECTED:
        return f"{said} {fenced(words, reason)}"
    return words.chips.with_reason.format(said=said, reason=fenced(words, reason))


def _chip(words: Words, approval: Approval, *, stopped: bool) -> str:
    chips = words.chips
    match approval.status:
        case Status.PENDING:
            return chips.waiting
        case Status.APPROVED if stopped:
            return chips.paused
        case Status.APPROVED | Status.EXECUTING:
            return chips.approved
        case Status.EXECUTED:
            return chips.accepted if is_on_its_way(approval) else chips.done
        case Status.UNKNOWN:
            return chips.unknown
        case Status.FAILED | Status.STALE:
            return chips.failed
        case Status.REJECTED:
            return chips.declined
        case Status.EXPIRED:
            return chips.expired
        case Status.SUPERSEDED:
            return chips.replaced
        case Status.CANCELLED:
            return chips.withdrawn if is_withdrawn(approval) else chips.called_off
        case _:
            assert_never(approval.status)


def outcome_text(approval: Approval, reason: str = "", language: Language = ENGLISH) -> str:
    """Return the message that tells the customer an outcome when the model has no words."""
    told, offer = told_text(approval, reason, language), _offer(approval, language)
    return f"{told} {offer}".rstrip()


def told_text(approval: Approval, reason: str = "", language: Language = ENGLISH) -> str:
    """Return what the customer is told of an outcome, without what can be done next."""
    words = words_in(language)
    thing = _thing(words, approval)
    told = _told(words, approval).format(
        what=what_text(approval, language), way=thing.way, done=thing.done, undone=thing.undone
    )
    if approval.status is Status.EXECUTED:
        return f"{told} {_edited(words, approval)}".rstrip()
    if reason and approval.status in {Status.REJECTED, Status.CANCELLED}:
        return f"{told} {fenced(words, reason)}"
    return told


def _told(words: Words, approval: Approval) -> str:
    told = words.outcomes
    match approval.status:
        case Status.EXECUTED:
            return told.accepted if is_on_its_way(approval) else told.executed
        case Status.REJECTED:
            return told.declined
        case Status.EXPIRED:
            return told.expired
        case Status.FAILED:
            return told.came_back if came_back(approval) else told.failed
        case Status.STALE:
            return told.stale
        case Status.UNKNOWN:
            return told.unknown
        case Status.CANCELLED:
            return told.withdrawn if is_withdrawn(approval) else told.called_off
        case Status.SUPERSEDED:
            return told.replaced
        case Status.PENDING | Status.APPROVED | Status.EXECUTING:
            return told.waiting
        case _:
            assert_never(approval.status)


def _offer(approval: Approval, language: Language) -> str:
    """Return what can be done next; what people had changed is not asked for a second time."""
    offers = words_in(language).offers
    match approval.status:
        case Status.REJECTED:
            return offers.person_if_liked
        case Status.FAILED:
            return offers.person_looks
        case Status.EXPIRED | Status.STALE:
            return offers.person if approval.is_edited else offers.again_or_person
        case _:
            return ""


def declined_text(approval: Approval, reason: str = "", language: Language = ENGLISH) -> str:
    """Return the sentence that a request was declined, with the reviewer's reason."""
    words = words_in(language)
    told = words.outcomes.declined.format(what=what_text(approval, language))
    return f"{told} {fenced(words, reason)}" if reason else told


def is_on_its_way(approval: Approval) -> bool:
    """Tell whether the provider has accepted it and not finished."""
    return (approval.result or {}).get("provider_status") == "pending"


def is_withdrawn(approval: Approval) -> bool:
    """Tell of a cancelled request whether nobody had decided yet."""
    return approval.decided_at is None


def fenced(words: Words, text: str) -> str:
    """Return what is put into a sentence, fenced off where it may run in the other direction."""
    return f"{_FIRST_STRONG}{text}{_POP}" if words.isolates and text else text


def known_words(approval: Approval) -> str:
    """Return for staff what became of an effect whose outcome was unknown."""
    what = request_words(approval)
    if approval.status is Status.EXECUTED:
        return f"{what} went through."
    return f"{what} did not go through: {_thing(words_in(ENGLISH), approval).undone}."


def request_words(approval: Approval) -> str:
    """Return in English what was asked for, e.g. `Refund of 160.00 USD on order ORD-1001`."""
    return _title(words_in(ENGLISH), approval)


def name_of(approval: Approval, language: Language = ENGLISH) -> str:
    """Return in one word what kind of thing was asked for, e.g. `Refund`."""
    return _thing(words_in(language), approval).name


def what_text(approval: Approval, language: Language = ENGLISH) -> str:
    """Return what was asked for as it stands in the middle of a sentence."""
    words = words_in(language)
    title = _title(words, approval)
    return title if words.capitals else lower(title)


def _title(words: Words, approval: Approval) -> str:
    thing = _thing(words, approval)
    pattern = thing.title if approval.order_id is None else thing.title_on
    amount = "" if approval.amount is None else str(approval.amount)
    return pattern.format(
        amount=fenced(words, amount), order=fenced(words, approval.order_id or "")
    )


def _thing(words: Words, approval: Approval) -> Thing:
    match approval.tool:
        case "issue_refund" if approval.amount is not None:
            return words.refund
        case "send_email":
            return words.email
        case _:
            return words.other


def came_back(approval: Approval) -> bool:
    """Tell whether the provider had made the refund and lost it again later."""
    return (approval.result or {}).get("provider_status") == "failed"


def lower(words: str) -> str:
    """Return a phrase for the middle of a sentence."""
    return words[:1].lower() + words[1:]


def outcome_for_model(approval: Approval, reason: str = "") -> Payload:
    """Return the system message that tells the run how its request ended."""
    told: Payload = {
        "event": "approval_outcome",
        "approval_id": approval.id,
        "tool": approval.tool,
        "order_id": approval.order_id,
        "amount": None if approval.amount is None else str(approval.amount),
        "outcome": approval.status.value,
        "ok": approval.status is Status.EXECUTED,
    }
    match approval.status:
        case Status.REJECTED:
            told |= {"error": "denied_by_human", "reason": reason}
        case Status.EXPIRED:
            told |= {"error": "expired", "reason": "no one decided in time"}
        case Status.STALE:
            told |= {"error": "stale", "reason": str((approval.result or {}).get("problem", ""))}
        case Status.CANCELLED:
            told |= {"error": "cancelled", "reason": reason or _cancelled(approval)}
        case Status.FAILED if came_back(approval):
            told |= {"error": "came_back", "reason": "the bank did not take it"}
        case Status.FAILED | Status.UNKNOWN:
            told |= {"error": approval.status.value, "reason": ""}
        case _:
            pass
    if approval.is_edited:
        told["edited"] = {
            "from": _open(approval.proposed),
            "to": _open(approval.payload),
            "final": True,
        }
    return told


def edit_for_model(approval: Approval, editor_reason: str) -> Payload:
    """Return the system message that tells the run of a person's edit, while it still waits."""
    return {
        "event": "human_edit",
        "approval_id": approval.id,
        "tool": approval.tool,
        "from": _open(approval.proposed),
        "to": _open(approval.payload),
        "final": True,
        "reason": editor_reason,
    }


def _cancelled(approval: Approval) -> str:
    return "withdrawn" if is_withdrawn(approval) else "called off by our team"


def _open(payload: Payload) -> Payload:
    """Return a payload without what its own recipients do not see."""
    return {name: value for name, value in payload.items() if name != "bcc"}


def _edited(words: Words, approval: Approval) -> str:
    original, amount = approval.original_amount, approval.amount
    if not approval.is_edited or original is None or amount is None or original == amount:
        return ""
    return words.outcomes.edited.format(
        original=fenced(words, str(original)), amount=fenced(words, str(amount))
    )
