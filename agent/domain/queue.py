"""Who may look at the desk, what waits for them, and what they have done today; pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from agent.domain.approvals import Approval, Verdict, Vote
from agent.domain.decision import Decision
from agent.domain.ids import ApprovalId
from agent.domain.judgement import Entitled, Register, judge_person
from agent.domain.roles import (
    Actor,
    ActorKind,
    Channel,
    Identity,
    Role,
    Roster,
    proven_roles,
    unread,
)

_Row = TypeVar("_Row")

_WHOLE = re.compile(r"APR_[0-9A-Z]{26}")
# Fewer characters would mean too many requests.
_TAIL = re.compile(r"[0-9A-Z]{6,26}")


class Standing(StrEnum):
    """What somebody who looks is to the desk; STAFF alone are shown anything."""

    STAFF = "staff"
    STRANGER = "stranger"
    GUEST = "guest"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Seat:
    """Somebody who looks; `roles` are those they provably hold, `problem` why none can be proven.

    `actor` is None for somebody the desk does not know.
    """

    standing: Standing
    actor: Actor | None = None
    roles: frozenset[Role] = frozenset()
    problem: str = ""


def seat_of(actor: Actor | None, rosters: Iterable[Roster], now: datetime) -> Seat:
    """Return what a person may see: every role may read, and it must be proven like any other.

    Whether somebody has no role, or that cannot be known at present, are two answers.
    """
    if actor is not None and (not actor.active or actor.kind is not ActorKind.MEMBER):
        return Seat(Standing.GUEST, actor)
    roles = frozenset() if actor is None else proven_roles(actor, now)
    if roles:
        return Seat(Standing.STAFF, actor, roles)
    if actor is not None and actor.grants:
        problem = f"{actor.grants[0].source} not read for over 60 s"
        return Seat(Standing.UNVERIFIED, actor, problem=problem)
    known = tuple(rosters)
    for role in Role:
        unproven = unread(role, known, now)
        if unproven is not None:
            return Seat(Standing.UNVERIFIED, actor, problem=unproven)
    return Seat(Standing.STRANGER, actor)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits for people; `customer_name` is empty where the shop knows nobody."""

    approval: Approval
    votes: tuple[Vote, ...]
    customer_name: str


def queue_of(waiting: Iterable[Waiting], actor: Actor, now: datetime) -> tuple[Waiting, ...]:
    """Return what waits for this person: their yes would count, or they look into it already.

    What they have taken over comes first, then the soonest deadline.
    """
    # Of no request in particular: who may speak does not depend on what was shown.
    word = Decision(
        approval_id=ApprovalId(""),
        identity=Identity("queue", actor.id),
        verdict=Verdict.APPROVE,
        shown_hash="",
        channel=Channel.SLACK,
    )
    nobody = Register()

    def is_mine(one: Waiting) -> bool:
        approval = one.approval
        judged = judge_person(approval, actor, word, one.votes, nobody, now)
        return isinstance(judged, Entitled) or _keeps(approval, actor, now)

    def urgency(one: Waiting) -> tuple[bool, datetime, str]:
        approval = one.approval
        return (not is_taken_by(approval, actor), approval.expires_at, approval.id)

    return tuple(sorted(filter(is_mine, waiting), key=urgency))


def is_taken_by(approval: Approval, actor: Actor) -> bool:
    """Tell whether this person has said that they look into the request."""
    return approval.taken_by is not None and approval.taken_by == actor.name


def _keeps(approval: Approval, actor: Actor, now: datetime) -> bool:
    """Tell whether somebody has taken a request over, which it may take another role to decide."""
    own = approval.customer_id in actor.customer_ids()
    return is_taken_by(approval, actor) and not own and approval.is_open(now)


@dataclass(frozen=True, slots=True)
class Page(Generic[_Row]):
    """Some rows of a longer list, of which `first` come before; pages are counted from 0."""

    rows: tuple[_Row, ...]
    first: int
    total: int
    number: int
    pages: int

    @property
    def beyond(self) -> int:
        """Return how many rows follow on later pages."""
        return self.total - self.first - len(self.rows)


def page_of(rows: Sequence[_Row], number: int, size: int) -> Page[_Row]:
    """Return one page; where the list has become too short for it, the last there is."""
    pages = max(1, -(-len(rows) // size))
    shown = min(max(number, 0), pages - 1)
    first = shown * size
    return Page(tuple(rows[first : first + size]), first, len(rows), shown, pages)


@dataclass(frozen=True, slots=True)
class Deed:
    """One act of a person on a request, which is shown as it stands now."""

    approval: Approval
    verdict: Verdict
    at: datetime
    customer_name: str
    break_glass: bool = False


def deeds_of(acts: Iterable[Deed]) -> tuple[Deed, ...]:
    """Return what a person did, newest first; an edit that was their vote too is one act."""
    known = list(acts)
    voted = {(deed.approval.id, deed.at) for deed in known if deed.verdict is not Verdict.EDIT}
    own = [
        deed
        for deed in known
        if deed.verdict is not Verdict.EDIT or (deed.approval.superseded_by, deed.at) not in voted
    ]
    return tuple(sorted(own, key=lambda deed: (deed.at, deed.approval.id), reverse=True))


def day_start(now: datetime, ahead: timedelta) -> datetime:
    """Return when a person's day began whose clock is so far ahead of UTC."""
    local = now + ahead
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - ahead


@dataclass(frozen=True, slots=True)
class Reference:
    """What somebody may mean who names a request.

    `whole` is a complete id, and then nothing else is meant; `orders` are the spellings of an
    order's id, `tail` is the end of a request's id, None where it cannot be one.
    """

    whole: ApprovalId | None
    orders: tuple[str, ...]
    tail: str | None


def read_reference(typed: str) -> Reference:
    """Return what a typed reference may mean; at most four spellings of an order."""
    plain = typed.strip().lstrip("…")
    upper = plain.upper()
    if _WHOLE.fullmatch(upper):
        return Reference(ApprovalId(f"apr_{upper[4:]}"), (), None)
    bare = upper.removeprefix("#")
    orders = tuple(dict.fromkeys((plain, upper, bare, f"#{bare}")))
    return Reference(None, orders, upper if _TAIL.fullmatch(upper) else None)
