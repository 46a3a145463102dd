"""Whether a person's word on an approval counts: the checks of design.md §7, in their order."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from agent.domain.approvals import Approval, Status, Verdict, Vote
from agent.domain.deadlines import is_past
from agent.domain.decision import Decision, Edits, RefusalCode
from agent.domain.payload import payload_hash
from agent.domain.roles import (
    Actor,
    ActorKind,
    Role,
    RoleProof,
    Roster,
    prove_role,
    proven_roles,
    unread,
)

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
    """The deadline has passed while the row is still pending: it must be met here and now."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class Counts:
    """The word counts; `evidence` proves the role for the trail."""

    approval: Approval
    actor: Actor
    roles: frozenset[Role]
    evidence: str


@dataclass(frozen=True, slots=True)
class Register:
    """Who holds roles at all, to tell somebody why they may not decide.

    `rosters` are the mirrored sources; `holders` counts the active people of each role, implied
    ones included.
    """

    rosters: tuple[Roster, ...] = ()
    holders: Mapping[Role, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entitled:
    """A person who holds the role that was asked for; `evidence` proves it for the trail."""

    actor: Actor
    roles: frozenset[Role]
    evidence: str


def judge(
    approval: Approval | None,
    actor: Actor | None,
    decision: Decision,
    votes: tuple[Vote, ...],
    register: Register,
    now: datetime,
) -> Counts | Denial | Lapsed:
    """Judge one decision; the first check that fails is the answer."""
    if approval is None:
        return Denial(RefusalCode.NOT_FOUND, "There is no such request.")
    entitled = judge_person(approval, actor, decision, votes, register, now)
    if not isinstance(entitled, Entitled):
        return entitled
    if not hash_shown(approval, decision.shown_hash):
        return Denial(
            RefusalCode.PAYLOAD_CHANGED,
            "What you saw is not what is stored. Look at the newest card before you decide.",
        )
    return _complete(decision) or Counts(
        approval, entitled.actor, entitled.roles, entitled.evidence
    )


def judge_person(
    approval: Approval,
    actor: Actor | None,
    decision: Decision,
    votes: tuple[Vote, ...],
    register: Register,
    now: datetime,
) -> Entitled | Denial | Lapsed:
    """Judge who speaks, and when, whatever they have seen; the first check that fails answers."""
    entitled = entitle(actor, role_needed(approval, decision), register, now)
    if isinstance(entitled, Denial):
        return entitled
    own = _own(approval, entitled.actor, decision.verdict)
    if own is not None:
        return own
    ended = _ended(approval, entitled.actor, decision, votes)
    if ended is not None:
        return ended
    return Lapsed(approval) if is_past(approval.expires_at, now) else entitled


def demand_fresh(counts: Counts, decision: Decision, now: datetime) -> Counts | Denial:
    """Let a word count on a tier that asks for it only with a role that was read since the click.

    That is the last check: whoever is refused for another reason need not wait for it.
    """
    approval, actor = counts.approval, counts.actor
    if not approval.tier.fresh_role:
        return counts
    since = decision.clicked_at or now
    proof, evidence = prove_role(actor, role_needed(approval, decision), now, since)
    if proof is not RoleProof.HELD:
        return _unverified(evidence)
    return replace(counts, roles=proven_roles(actor, now, since), evidence=evidence)


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


def role_needed(approval: Approval, decision: Decision) -> Role:
    """Return the role that a person's word on the approval takes.

    One no or one edit ends what several must approve, so it takes the tier's own role.
    """
    if decision.break_glass and decision.verdict is Verdict.APPROVE:
        return Role.ONCALL
    tier = approval.tier
    return tier.floor() if decision.verdict is Verdict.APPROVE else tier.role


def entitle(
    actor: Actor | None, role: Role, register: Register, now: datetime
) -> Entitled | Denial:
    """Prove that a person holds a role, or say which of the reasons stands in the way."""
    if actor is None:
        # Who was never mirrored may be in the very group that cannot be read.
        problem = unread(role, register.rosters, now)
        if problem is not None:
            return _unverified(problem)
        return Denial(RefusalCode.NOT_ALLOWED, "The desk does not know you.")
    if not actor.active or actor.kind is not ActorKind.MEMBER:
        return Denial(RefusalCode.NOT_ALLOWED, "Guests and inactive accounts may not decide.")
    proof, evidence = prove_role(actor, role, now)
    match proof:
        case RoleProof.HELD:
            return Entitled(actor, proven_roles(actor, now), evidence)
        case RoleProof.UNVERIFIED:
            return _unverified(evidence)
        case RoleProof.ABSENT:
            return _absent(role, register, now)
        case _:
            assert_never(proof)


def _absent(role: Role, register: Register, now: datetime) -> Denial:
    """Tell apart: a source could not be read, nobody holds the role, or this person does not."""
    problem = unread(role, register.rosters, now)
    if problem is not None:
        return _unverified(problem)
    if not register.holders.get(role, 0):
        return Denial(
            RefusalCode.NOT_ALLOWED, f"This needs the role {role}, which nobody holds at present."
        )
    return Denial(RefusalCode.NOT_ALLOWED, f"This needs the role {role}.")


def _unverified(evidence: str) -> Denial:
    return Denial(
        RefusalCode.ROLE_UNVERIFIED,
        f"Your role could not be verified just now ({evidence}). Try again in a minute.",
    )


def own_request(approval: Approval, actor: Actor) -> Denial | None:
    """Refuse a person's word on what they asked for as a customer."""
    if approval.customer_id not in actor.customer_ids():
        return None
    return Denial(RefusalCode.SELF_APPROVAL, "This is your own request; somebody else decides.")


def _own(approval: Approval, actor: Actor, verdict: Verdict) -> Denial | None:
    if own := own_request(approval, actor):
        return own
    # An editor may think again: another edit of theirs is judged by the whole chain.
    if verdict is not Verdict.EDIT and actor.did(approval.edited_by):
        return Denial(RefusalCode.SELF_APPROVAL, "You edited this request; somebody else decides.")
    return None


def _ended(
    approval: Approval, actor: Actor, decision: Decision, votes: tuple[Vote, ...]
) -> Denial | None:
    over = too_late(approval, votes)
    if over is not None:
        return over
    mine = _same_vote(actor, decision, votes)
    if mine is None:
        return None
    return Denial(RefusalCode.ALREADY_VOTED, "You have voted already.", mine)


def too_late(approval: Approval, votes: tuple[Vote, ...]) -> Denial | None:
    """Return how a request has ended, for somebody who comes after that; None while it waits."""
    last = votes[-1] if votes else None
    match approval.status:
        case Status.PENDING:
            return None
        case Status.EXPIRED:
            return Denial(RefusalCode.EXPIRED, "Too late: nobody decided before the deadline.")
        case Status.SUPERSEDED:
            return Denial(
                RefusalCode.SUPERSEDED, f"Replaced by {approval.superseded_by} after an edit.", last
            )
        case Status.CANCELLED:
            return Denial(RefusalCode.ALREADY_DECIDED, "This request was cancelled.", last)
        case _:
            return Denial(RefusalCode.ALREADY_DECIDED, _decided_words(approval, last), last)


def _same_vote(actor: Actor, decision: Decision, votes: tuple[Vote, ...]) -> Vote | None:
    """Return the person's vote that says just this; another word of theirs may follow it.

    Who has approved as one of two may still reject or edit, or break the glass when nobody comes.
    """
    for vote in votes:
        if vote.actor_id is None or not actor.did([vote.actor_id]):
            continue
        if (vote.verdict, vote.break_glass) == (decision.verdict, decision.break_glass):
            return vote
    return None


def _decided_words(approval: Approval, last: Vote | None) -> str:
    if last is None:
        return f"Already {approval.status}."
    when = f"{last.at:%Y-%m-%d %H:%M} UTC"
    done = {"approve": "approved", "reject": "rejected", "edit": "edited"}[last.verdict]
    return f"Already {done} by {last.actor_name} at {when}; the request is {approval.status}."


def _complete(decision: Decision) -> Denial | None:
    reason = decision.reason.strip()
    match decision.verdict:
        case Verdict.REJECT | Verdict.EDIT if decision.break_glass:
            return Denial(RefusalCode.INVALID, "break_glass: only an approval breaks the glass.")
        case Verdict.REJECT if len(reason) < MIN_REASON:
            return Denial(
                RefusalCode.REASON_REQUIRED,
                f"Say why, in at least {MIN_REASON} characters: the customer reads it.",
            )
        case Verdict.REJECT if decision.category is None:
            return Denial(RefusalCode.INVALID, "category: pick one.")
        case Verdict.APPROVE if decision.break_glass and len(reason) < MIN_REASON:
            return Denial(
                RefusalCode.REASON_REQUIRED,
                f"Say why nobody else can decide, in at least {MIN_REASON} characters.",
            )
        case Verdict.EDIT if decision.edits == Edits():
            return Denial(RefusalCode.INVALID, "edits: nothing is changed.")
        case _:
            return None
