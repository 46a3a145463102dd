"""Numbers over many requests: what waits now, and what ended in a day.

Finished requests are found by when they ended, of which there is an index: a day is read, not the
table.
"""

from datetime import datetime
from fractions import Fraction

from sqlalchemy import Select, and_, bindparam, case, func, select, text

from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.digest import MEDIAN, P90, Day, Ended, Queue, Waits, rank
from agent.domain.roles import Role, Tier
from storage import approvals as rows
from storage import audit
from storage.tables import approvals, decisions
from storage.times import from_micros, to_micros
from storage.transaction import Tx

_SOONEST, _PEOPLE, _REASONS = 5, 10, 5
_PENDING = text("status = 'pending'")
_TIERS = (
    select(
        approvals.c.tier_role,
        approvals.c.approvals_needed,
        func.count().label("n"),
        func.min(approvals.c.created_at).label("oldest"),
    )
    .where(_PENDING)
    .group_by(approvals.c.tier_role, approvals.c.approvals_needed)
    .order_by(approvals.c.tier_role, approvals.c.approvals_needed)
)
_NEXT_TO_END = (
    select(approvals)
    .where(_PENDING)
    .order_by(approvals.c.expires_at, approvals.c.id)
    .limit(_SOONEST)
)
_IN_THE_DAY = and_(
    approvals.c.ended_at.is_not(None),
    approvals.c.ended_at >= bindparam("since"),
    approvals.c.ended_at < bindparam("until"),
)
_UNSEEN = approvals.c.result.like('%"unseen":true%')
_ENDED = (
    select(
        approvals.c.tool,
        approvals.c.status,
        approvals.c.automatic,
        func.count().label("n"),
        func.sum(case((_UNSEEN, 1), else_=0)).label("unseen"),
    )
    .where(_IN_THE_DAY)
    .group_by(approvals.c.tool, approvals.c.status, approvals.c.automatic)
    .order_by(approvals.c.tool, approvals.c.status, approvals.c.automatic)
)
_BY_PEOPLE = and_(
    _IN_THE_DAY,
    approvals.c.automatic == 0,
    approvals.c.decided_at.is_not(None),
    # An edit is no decision: that comes with the row that takes the place.
    approvals.c.status != Status.SUPERSEDED.value,
)
_DECIDED = select(func.count().label("n")).where(_BY_PEOPLE)
# An edited request has waited since it was first made.
_WAITED = approvals.c.decided_at - case(
    (approvals.c.waits_since < approvals.c.created_at, approvals.c.waits_since),
    else_=approvals.c.created_at,
)
_WAIT = (
    select(_WAITED.label("micros"))
    .where(_BY_PEOPLE)
    .order_by(_WAITED)
    .limit(1)
    .offset(bindparam("skip"))
)


def _votes(verdict: str) -> Select[int]:
    return (
        select(func.count().label("n"))
        .select_from(approvals)
        .join(decisions, decisions.c.approval_id == approvals.c.id)
        .where(_IN_THE_DAY, decisions.c.verdict == verdict)
        .order_by(func.count().desc())
    )


_APPROVERS = (
    _votes("approve")
    .add_columns(func.max(decisions.c.actor_name).label("what"))
    .group_by(decisions.c.actor_id)
    .order_by("what")
    .limit(_PEOPLE)
)
_EDITS = (
    _votes("edit")
    .add_columns(decisions.c.reason.label("what"))
    .group_by(decisions.c.reason)
    .order_by("what")
    .limit(_REASONS)
)


def queue(tx: Tx) -> Queue | None:
    """Return what waits for people, None when nothing does."""
    tiers = tx.all(_TIERS)
    if not tiers:
        return None
    return Queue(
        tiers=tuple((Tier(Role(t["tier_role"]), t["approvals_needed"]), t["n"]) for t in tiers),
        oldest=min(from_micros(t["oldest"]) for t in tiers),
        soonest=rows.readable(tx.all(_NEXT_TO_END)),
    )


def day(tx: Tx, since: datetime, until: datetime) -> Day:
    """Return what ended at `since` or later and before `until`, and what waits now."""
    span = {"since": to_micros(since), "until": to_micros(until)}
    ended = tuple(
        Ended(r["tool"], Status(r["status"]), bool(r["automatic"]), r["n"], int(r["unseen"]))
        for r in tx.all(_ENDED, **span)
    )
    approvers, edits = tx.all(_APPROVERS, **span), tx.all(_EDITS, **span)
    return Day(
        since=since,
        until=until,
        ended=ended,
        waits=_waits(tx, span),
        approvers=tuple((r["what"], r["n"]) for r in approvers),
        edits=tuple((r["what"], r["n"]) for r in edits),
        breaker_openings=audit.count_between(tx, AuditType.BREAKER_OPENED, since, until),
        waiting=rows.count(tx, Status.PENDING)[0],
    )


def _waits(tx: Tx, span: dict[str, int]) -> Waits | None:
    found = tx.one(_DECIDED, **span)
    number = 0 if found is None else int(found["n"])
    if number == 0:
        return None

    def seconds(share: Fraction) -> int:
        row = tx.one(_WAIT, **span, skip=rank(number, share))
        return 0 if row is None else int(row["micros"]) // 1_000_000

    return Waits(number, seconds(MEDIAN), seconds(P90))
