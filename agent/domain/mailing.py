"""Which outcomes a customer is mailed, and the words of the mail. Pure."""

from dataclasses import dataclass, replace
from typing import Literal

from agent.domain.approvals import Approval, Status
from agent.domain.languages import RIGHT_TO_LEFT, Language
from agent.domain.mail_text import readable
from agent.domain.wording import (
    came_back,
    fenced,
    is_for_customer,
    is_on_its_way,
    is_withdrawn,
    name_of,
    told_text,
)
from agent.domain.words import words_in
from agent.domain.words.shape import Mails

_MAILED = frozenset(
    {
        Status.EXECUTED,
        Status.FAILED,
        Status.STALE,
        Status.REJECTED,
        Status.EXPIRED,
        Status.CANCELLED,
    }
)
# Of user text only the number of the order is in a subject, and no more of it than one can read.
_LONGEST_ORDER, _LONGEST_NAME = 60, 100


@dataclass(frozen=True, slots=True)
class Letter:
    """The words of one mail, each of them plain text; `link` is None where there is no page.

    `facts` are names and values, such as `Order` and `ORD-1001`.
    """

    language: Language
    direction: Literal["ltr", "rtl"]
    subject: str
    greeting: str
    told: str
    reason_name: str
    reason: str
    facts: tuple[tuple[str, str], ...]
    invitation: str
    link_name: str
    link: str | None
    why: str


def is_mailed(approval: Approval) -> bool:
    """Tell whether a request has come to something that the customer is mailed if unread.

    An e-mail that has left tells of itself.
    """
    if not is_for_customer(approval) or approval.status not in _MAILED:
        return False
    return not (approval.tool == "send_email" and approval.status is Status.EXECUTED)


def outcome_of(approval: Approval) -> str:
    """Return by what name an outcome is mailed once: the status, and whether it is final."""
    accepted = approval.status is Status.EXECUTED and is_on_its_way(approval)
    return "accepted" if accepted else approval.status.value


def still_holds(approval: Approval, outcome: str) -> bool:
    """Tell whether an outcome that was to be mailed is still how the request stands.

    What expired or went stale may have been put before people again.
    """
    return outcome_of(approval) == outcome and approval.superseded_by is None


def write_letter(
    approval: Approval, reason: str, customer_name: str, language: Language, link: str | None
) -> Letter:
    """Return the mail that tells a customer how their request stands.

    `reason` is what the team says for the customer's ears; empty where it says nothing.
    """
    order = readable(approval.order_id or "").replace("\n", " ")[:_LONGEST_ORDER].strip()
    seen = replace(approval, order_id=order or None)
    words = words_in(language)
    mails, status = words.mails, _status(words.mails, seen)
    name = readable(customer_name).replace("\n", " ")[:_LONGEST_NAME].strip()
    facts = [(mails.status, status)]
    if seen.amount is not None:
        facts.insert(0, (mails.amount, fenced(words, str(seen.amount))))
    if order:
        facts.insert(0, (mails.order, fenced(words, order)))
    subject = mails.subject_on if order else mails.subject
    kind = name_of(seen, language)
    return Letter(
        language=language,
        direction="rtl" if language in RIGHT_TO_LEFT else "ltr",
        subject=subject.format(name=kind, order=fenced(words, order), status=status),
        greeting=mails.greeting.format(name=fenced(words, name)) if name else mails.hello,
        told=told_text(seen, language=language),
        reason_name=mails.reason,
        reason=readable(reason).strip(),
        facts=tuple(facts),
        invitation=mails.invitation,
        link_name=mails.link,
        link=link,
        why=mails.why,
    )


def _status(mails: Mails, approval: Approval) -> str:
    match approval.status:
        case Status.EXECUTED:
            return mails.accepted if is_on_its_way(approval) else mails.done
        case Status.FAILED:
            return mails.came_back if came_back(approval) else mails.failed
        case Status.STALE:
            return mails.stale
        case Status.REJECTED:
            return mails.declined
        case Status.EXPIRED:
            return mails.expired
        case Status.CANCELLED:
            return mails.withdrawn if is_withdrawn(approval) else mails.called_off
        case _:
            raise ValueError(f"nobody is mailed that a request is {approval.status}")
