"""Whether a person's word on an approval counts: the checks of design.md §7, in their order."""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from agent.domain.approvals import Approval, Status, Verdict, Vote
from agent.domain.deadlines import is_past
from agent.domain.decision import Decision, RefusalCode
from agent.domain.payload import payload_hash
from agent.domain.roles import Actor, ActorKind, Role, RoleProof, prove_role, proven_roles

MIN_REASON = 5
_SHORT_HASH = 16


@dataclass(frozen=True, slots=True)
class Denial:
    """The word does not count, and why, in a sentence for the person who gave it."""

    code: RefusalCode
    message: str
    earlier: Vote | None = None


@dataclass(frozen=True, slots=True)
class Lapsed:
    """The deadline has passed while the row is still pending: it expires here and now."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class Counts:
    """The word counts; `evidence` proves the role for the trail."""

    approval: Approval
    actor: Actor
    roles: frozenset[Role]
    evidence: str


def judge(
    approval: Approval | None,
    actor: Actor | None,
    decision: Decision,
    votes: tuple[Vote, ...],
    now: datetime,
) -> Counts | Denial | Lapsed:
    """Judge one decision; the first check that fails is the answer."""
    if approval is None:
        return Denial(RefusalCode.NOT_FOUND, "There is no such request.")
    entitled = _entitled(approval, actor, decision.verdict, now)
    if isinstance(entitled, Denial):
        return entitled
    own = _own_request(approval, entitled.actor)
    if own is not None:
        return own
    ended = _ended(approval, entitled.actor, votes)
    if ended is not None:
        return ended
    if is_past(approval.expires_at, now):
        return Lapsed(approval)
    if not hash_shown(approval, decision.shown_hash):
        return Denial(
            RefusalCode.PAYLOAD_CHANGED,
            "What you saw is not what is stored. Look at the newest card before you decide.",
        )
    return _complete(decision) or entitled


def hash_shown(approval: Approval, shown: str) -> bool:
    """Tell whether the person saw what is stored, recomputed from the stored bytes."""
    actual = payload_hash(
        tool=approval.tool,
        payload=approval.payload,
        approval_id=approval.id,
        policy_version=approval.policy_version,
    )
    if actual != approval.payload_hash:
        return False
    return shown in {actual, actual[:_SHORT_HASH]}


def _entitled(
    approval: Approval, actor: Actor | None, verdict: Verdict, now: datetime
) -> Counts | Denial:
    if actor is None:
        return Denial(RefusalCode.NOT_ALLOWED, "The desk does not know you.")
    if not actor.active or actor.kind is not ActorKind.MEMBER:
        return Denial(RefusalCode.NOT_ALLOWED, "Guests and inactive accounts may not decide.")
    # One no or one edit ends what several must approve, so it takes the tier's own role.
    tier = approval.tier
    role = tier.floor() if verdict is Verdict.APPROVE else tier.role
    proof, evidence = prove_role(actor, role, now)
    match proof:
        case RoleProof.HELD:
            return Counts(approval, actor, proven_roles(actor, now), evidence)
        case RoleProof.UNVERIFIED:
            return Denial(
                RefusalCode.ROLE_UNVERIFIED,
                f"Your role could not be verified just now ({evidence}). Try again in a minute.",
            )
        case RoleProof.ABSENT:
            return Denial(RefusalCode.NOT_ALLOWED, f"This needs the role {role}.")
        case _:
            assert_never(proof)


def _own_request(approval: Approval, actor: Actor) -> Denial | None:
    if approval.customer_id in actor.customer_ids():
        return Denial(RefusalCode.SELF_APPROVAL, "This is your own request; somebody else decides.")
    if actor.id in approval.edited_by:
        return Denial(RefusalCode.SELF_APPROVAL, "You edited this request; somebody else decides.")
    return None


def _ended(approval: Approval, actor: Actor, votes: tuple[Vote, ...]) -> Denial | None:
    last = votes[-1] if votes else None
    match approval.status:
        case Status.PENDING:
            mine = next((v for v in votes if v.actor_id == actor.id), None)
            if mine is None:
                return None
            return Denial(RefusalCode.ALREADY_VOTED, "You have voted already.", mine)
        case Status.EXPIRED:
            return Denial(RefusalCode.EXPIRED, "Too late: nobody decided before the deadline.")
        case Status.SUPERSEDED:
            return Denial(
                RefusalCode.SUPERSEDED, f"Replaced by {approval.superseded_by} after an edit.", last
            )
        case Status.CANCELLED:
            return Denial(RefusalCode.ALREADY_DECIDED, "This request was withdrawn.", last)
        case _:
            return Denial(RefusalCode.ALREADY_DECIDED, _decided_words(approval, last), last)


def _decided_words(approval: Approval, last: Vote | None) -> str:
    if last is None:
        return f"Already {approval.status}."
    when = f"{last.at:%Y-%m-%d %H:%M} UTC"
    done = {"approve": "approved", "reject": "rejected", "edit": "edited"}[last.verdict]
    return f"Already {done} by {last.actor_name} at {when}; the request is {approval.status}."


def _complete(decision: Decision) -> Denial | None:
    match decision.verdict:
        case Verdict.REJECT if len(decision.reason.strip()) < MIN_REASON:
            return Denial(
                RefusalCode.REASON_REQUIRED,
                f"Say why, in at least {MIN_REASON} characters: the customer reads it.",
            )
        case Verdict.REJECT if decision.category is None:
            return Denial(RefusalCode.INVALID, "category: pick one.")
        case Verdict.EDIT if decision.amount is None:
            return Denial(RefusalCode.INVALID, "amount: is missing.")
        case _:
            return None
