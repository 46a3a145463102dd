"""What a card, a thread line and a list say for each tool and status, always in words.

What comes out of here may hold untrusted text, such as an e-mail's subject: it is for literal
carriers only, and `title` alone has been made visible already.
"""

from dataclasses import dataclass, replace

from agent.domain.approvals import Approval, ApprovalView, RejectCategory, Status, Vote
from agent.domain.fraud import FlagAction
from agent.domain.payload import Json
from agent.domain.roles import Tier
from agent.domain.wording import came_back
from agent.tools.emails import SEND_EMAIL
from agent.tools.flags import FLAG_FOR_FRAUD
from agent.tools.refunds import ISSUE_REFUND
from bot.slack.blocks import utc
from bot.slack.proposals import email_of, flag_of
from bot.slack.text import headline, visible

HELD = "While everything is stopped, nothing is sent again."

_TITLE = 150
_SUBJECT = 100


@dataclass(frozen=True, slots=True)
class Look:
    """How a status looks: Slack's emoji name, the same emoji as a character, title and verdict."""

    emoji: str
    sign: str
    title: str
    verdict: str


@dataclass(frozen=True, slots=True)
class _Kind:
    """How an effect is spoken of: its noun, done and undone, and the sentences around it."""

    subject: str
    done: str
    undone: str
    nothing: str
    never: str
    way: str
    silent: str
    outside: str


_KINDS: dict[str, _Kind] = {
    ISSUE_REFUND.name: _Kind(
        subject="Refund",
        done="paid",
        undone="not paid",
        nothing="No money moved.",
        never="nothing was paid",
        way="The payment is on its way.",
        silent="The payment provider gave no clear answer; it is being asked again.",
        outside="The provider",
    ),
    SEND_EMAIL.name: _Kind(
        subject="E-mail",
        done="sent",
        undone="not sent",
        nothing="Nothing was sent.",
        never="nothing was sent",
        way="It is on its way to the mail server.",
        silent="The mail server gave no clear answer: it may have left or not.",
        outside="The mail server",
    ),
    FLAG_FOR_FRAUD.name: _Kind(
        subject="Fraud flag",
        done="noted",
        undone="not noted",
        nothing="Nothing was noted.",
        never="nothing was noted",
        way="It is being entered.",
        silent="The shop's list of signals gave no clear answer; it is being asked again.",
        outside="The shop",
    ),
}
_OTHER = _Kind(
    subject="Request",
    done="carried out",
    undone="not carried out",
    nothing="Nothing was done.",
    never="nothing was done",
    way="It is being carried out.",
    silent="There was no clear answer; it is being asked again.",
    outside="The other side",
)

# Titles and verdicts as templates: `yes` says who allowed it, the others are the tool's words.
_LOOKS: dict[Status, Look] = {
    Status.PENDING: Look("hourglass_flowing_sand", "⏳", "needs approval", "Waiting"),
    Status.APPROVED: Look("white_check_mark", "✅", "approved", "{yes}"),
    Status.EXECUTING: Look("white_check_mark", "✅", "approved", "{yes}"),
    Status.EXECUTED: Look("white_check_mark", "✅", "{headline}", "{yes} and {done}"),
    Status.FAILED: Look("x", "❌", "failed", "{yes}, but failed"),
    Status.UNKNOWN: Look("mag", "🔎", "being checked", "{yes}, outcome not known yet"),
    Status.STALE: Look("warning", "⚠️", "{undone}", "{yes}, but {undone}"),
    Status.REJECTED: Look("no_entry_sign", "🚫", "rejected", "Rejected"),
    Status.EXPIRED: Look("hourglass", "⌛", "expired", "Expired"),
    Status.SUPERSEDED: Look("pencil2", "✏️", "replaced", "Replaced by an edit"),
    Status.CANCELLED: Look("leftwards_arrow_with_hook", "↩️", "withdrawn", "Withdrawn"),
}
_CAME_BACK = Look("x", "❌", "came back", "{yes}, but it came back")
_REVOKED = Look("leftwards_arrow_with_hook", "↩️", "called off", "Called off")
_SETTLED: dict[Status, Look] = {
    Status.EXECUTED: Look("white_check_mark", "✅", "{headline}", "Settled as {done}"),
    Status.FAILED: Look("x", "❌", "{undone}", "Settled as {undone}"),
}

CATEGORY_WORDS: dict[RejectCategory, str] = {
    RejectCategory.NOT_ELIGIBLE: "Not eligible under the shop's rules",
    RejectCategory.WRONG_AMOUNT: "The amount is wrong",
    RejectCategory.NEEDS_INFORMATION: "More information is needed first",
    RejectCategory.SUSPECTED_ABUSE: "Suspected abuse",
    RejectCategory.OTHER: "Something else",
}

# Where the approving or rejecting votes made the request what it is.
_BY_VOTE = frozenset(Status) - {Status.PENDING, Status.EXPIRED, Status.CANCELLED}


def look_of(approval: Approval, status: Status | None = None) -> Look:
    """Return how an approval looks, as it stands or as it was at an earlier `status`."""
    kind, shown = _kind(approval), status or approval.status
    # How it ended says nothing about how it was before.
    look = (_special(approval) if shown is approval.status else None) or _LOOKS[shown]
    words = {
        "yes": "Allowed by the policy" if approval.automatic else "Approved",
        "done": kind.done,
        "undone": kind.undone,
        "headline": _headline(approval, kind),
    }
    return replace(look, title=look.title.format(**words), verdict=look.verdict.format(**words))


def look_in_history(status: str) -> Look:
    """Return how a stored status looks whatever it is of; an unknown one is shown as it is."""
    look = next((look for known, look in _LOOKS.items() if known == status), None)
    if look is None:
        return Look("question", "❓", visible(status), visible(status))
    return replace(look, title=look.title.format(headline=_OTHER.done, undone=_OTHER.undone))


def subject(approval: Approval) -> str:
    """Return what the approval is about in a word or two, e.g. `Refund`."""
    return _kind(approval).subject


def what(approval: Approval) -> str:
    """Return which one it is: the amount, the e-mail's subject or the flag's score; one line."""
    email, flag = email_of(approval), flag_of(approval)
    if approval.amount is not None:
        return str(approval.amount)
    if email is not None:
        return headline(visible(email.subject), _SUBJECT)
    if flag is not None:
        return f"score {headline(visible(flag.score), _SUBJECT)}"
    return headline(visible(approval.tool), _SUBJECT)


def phrase(approval: Approval) -> str:
    """Return subject and `what` as one phrase, e.g. `Refund of 160.00 USD`."""
    if email_of(approval) is not None:
        return f"E-mail “{what(approval)}”"
    if flag_of(approval) is not None:
        return f"Fraud flag, {what(approval)}"
    return (
        subject(approval) if approval.amount is None else f"{subject(approval)} of {what(approval)}"
    )


def can_edit(approval: Approval) -> bool:
    """Tell whether an edit form has something to change; a flag is decided as it is."""
    refund = approval.tool == ISSUE_REFUND.name and approval.amount is not None
    return refund or email_of(approval) is not None


def title(approval: Approval) -> str:
    """Return the headline: fixed words and what it is about, at most 150 characters."""
    look = look_of(approval)
    sign = "" if approval.status is Status.PENDING else f"{look.sign} "
    return headline(f"{sign}{subject(approval)} {look.title} · {what(approval)}", _TITLE)


def outcome(approval: Approval, *, stopped: bool = False) -> str:
    """Return the sentences after the verdict: what became of it, and how that is known.

    `stopped` tells that nothing is carried out at present.
    """
    result = approval.result or {}
    if is_settled(approval):
        return _evidence(result)
    match approval.status:
        case Status.APPROVED if stopped:
            return "It waits until the stop is lifted."
        case Status.UNKNOWN if stopped:
            return f"{_kind(approval).silent} {HELD}"
        case Status.EXECUTED:
            return _done(approval, result)
        case Status.FAILED:
            return _failed(approval, result)
        case Status.STALE:
            problem = _said(result, "problem") or "Something changed in the meantime."
            return f"{problem} {_kind(approval).nothing}"
        case status:
            return _plainly(approval).get(status, "")


def is_settled(approval: Approval) -> bool:
    """Tell whether a person's word, not the outside's record, ended the request."""
    return approval.status in _SETTLED and "settled_by" in (approval.result or {})


def closed_by(approval: Approval) -> str | None:
    """Return whose word alone ended the request: who called it off, or settled its outcome."""
    result = approval.result or {}
    if is_settled(approval):
        return _said(result, "settled_by")
    return _said(result, "revoked_by") if _is_revoked(approval) else None


def revoke_reason(approval: Approval) -> str:
    """Return why an approved request was called off; empty where it was not."""
    return _said(approval.result or {}, "reason") if _is_revoked(approval) else ""


def category_words(category: str) -> str:
    """Return the words of a reject category as it is stored."""
    return next((text for known, text in CATEGORY_WORDS.items() if known == category), "")


def deciding_votes(view: ApprovalView) -> tuple[Vote, ...]:
    """Return the votes that led to the status, or that were cast before it ended otherwise."""
    verdict = {Status.REJECTED: "reject", Status.SUPERSEDED: "edit"}.get(
        view.approval.status, "approve"
    )
    return tuple(vote for vote in view.votes if vote.verdict == verdict)


def signing_votes(view: ApprovalView) -> tuple[Vote, ...]:
    """Return the votes that stand behind the verdict; none where the end came otherwise."""
    ended_otherwise = view.approval.status not in _BY_VOTE or is_settled(view.approval)
    return () if ended_otherwise else deciding_votes(view)


def ended_words(view: ApprovalView) -> str:
    """Return who decided what and when, for somebody who comes too late."""
    approval = view.approval
    if approval.status in {Status.PENDING, Status.EXPIRED}:
        after = f"{lapse_words(approval)}{_successor(approval)}"
        return f"Expired at {utc(approval.expires_at)}. {after}"
    after = f"{outcome(approval, stopped=view.stopped)}{_successor(approval)}".strip()
    verdict = look_of(approval).verdict
    if signed := ", ".join(_signature(vote) for vote in signing_votes(view)):
        return f"{verdict} by {signed}. {after}".strip()
    closer, why = closed_by(approval), revoke_reason(approval)
    by = "" if closer is None else f" by {closer}"
    at = "" if approval.ended_at is None else f" at {utc(approval.ended_at)}"
    return f"{verdict}{by}{at}{f': {why}' if why else ''}. {after}".strip()


def tier_words(tier: Tier) -> str:
    """Return who may decide, for the middle of a sentence."""
    role = tier.role.replace("_", " ")
    if tier.approvals_needed == 1:
        return f"one {role}"
    return f"{tier.approvals_needed} people, at least one {role}"


def progress_words(view: ApprovalView, then: str = "") -> str:
    """Return how far the quorum has come, e.g. `1 of 2`, and what is missing beside people.

    `then` follows the numbers: `2 of 2 approvals, a refund manager is missing`.
    """
    approval, tier = view.approval, view.approval.tier
    votes = tuple(vote for vote in view.votes if vote.verdict == "approve")
    approving = len({vote.actor_id for vote in votes})
    told = f"{min(approving, tier.approvals_needed)} of {tier.approvals_needed}{then}"
    ended_by_people = approval.status not in {Status.PENDING, Status.EXPIRED}
    held = any(tier.role in vote.roles for vote in votes)
    if approving < tier.approvals_needed or held or ended_by_people:
        return told
    verb = "is" if approval.status is Status.PENDING else "was"
    return f"{told}, a {tier.role.replace('_', ' ')} {verb} missing"


def lapse_words(approval: Approval) -> str:
    """Return what a deadline that nobody met means, and whether anybody could have met it."""
    if (approval.result or {}).get("unseen") is True:
        return f"Slack could not show it in time, so nobody could decide; {_kind(approval).never}."
    return f"Nobody decided in time; {_kind(approval).never}."


def _kind(approval: Approval) -> _Kind:
    if approval.tool == ISSUE_REFUND.name and approval.amount is None:
        return _OTHER
    return _KINDS.get(approval.tool, _OTHER)


def _special(approval: Approval) -> Look | None:
    """Return the look of an end that the status alone does not tell, None for the usual one."""
    if is_settled(approval):
        return _SETTLED[approval.status]
    if approval.status is Status.FAILED and _is_back(approval):
        return _CAME_BACK
    return _REVOKED if _is_revoked(approval) else None


def _is_back(approval: Approval) -> bool:
    return approval.amount is not None and came_back(approval)


def _is_revoked(approval: Approval) -> bool:
    return approval.status is Status.CANCELLED and "revoked_by" in (approval.result or {})


def _plainly(approval: Approval) -> dict[Status, str]:
    kind = _kind(approval)
    never = f"{kind.never.capitalize()}."
    return {
        Status.APPROVED: kind.way,
        Status.EXECUTING: kind.way,
        Status.UNKNOWN: kind.silent,
        Status.EXPIRED: lapse_words(approval),
        Status.REJECTED: never,
        Status.CANCELLED: never,
    }


def _headline(approval: Approval, kind: _Kind) -> str:
    flag = flag_of(approval)
    held = flag is not None and flag.action is FlagAction.HOLD
    return f"{kind.done}, customer on hold" if held else kind.done


def _done(approval: Approval, result: dict[str, Json]) -> str:
    flag = flag_of(approval)
    if flag is not None:
        return f"Its entry is {_said(result, 'flag_id') or 'unknown'}. Triggered: {flag.triggers}."
    if approval.tool == SEND_EMAIL.name:
        return f"The mail server took it: {_said(result, 'reply') or 'no word'}."
    unfinished = result.get("provider_status") == "pending"
    more = " The provider has not finished it yet." if unfinished else ""
    return f"The provider's id is {_said(result, 'refund_id') or 'unknown'}.{more}"


def _failed(approval: Approval, result: dict[str, Json]) -> str:
    kind = _kind(approval)
    if _is_back(approval):
        return (
            f"The provider has it as failed ({_said(result, 'refund_id')}): the customer does "
            "not have the money."
        )
    message, code = _said(result, "message"), _said(result, "code") or "no code"
    said = f"{kind.outside} said: {message} ({code}). " if message else ""
    return f"{said}{kind.nothing}"


def _evidence(result: dict[str, Json]) -> str:
    """Return what the person had seen who settled an unknown outcome."""
    kind = _said(result, "evidence").replace("_", " ")
    told = f"Evidence: {kind}, {_said(result, 'reference')}. {_said(result, 'note')}"
    return told.strip()


def _successor(approval: Approval) -> str:
    if approval.superseded_by is None:
        return ""
    how = "The" if approval.status is Status.SUPERSEDED else "It was asked again: the"
    return f" {how} new request is {approval.superseded_by}."


def _signature(vote: Vote) -> str:
    broke = f" (broke the glass: {vote.reason})" if vote.break_glass else ""
    return f"{vote.actor_name} at {utc(vote.at)}{broke}"


def _said(result: dict[str, Json], name: str) -> str:
    value = result.get(name)
    return "" if value is None else str(value)
