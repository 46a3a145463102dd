"""What waits, who decided what lately, and requests by what people call them; reading only."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from sqlalchemy import bindparam, exists, func, or_, select, text

from agent.domain.approvals import Approval, Verdict, Vote
from agent.domain.errors import Corrupt
from agent.domain.ids import ActorId, ApprovalId
from agent.domain.queue import Deed, Waiting
from storage.approval_rows import from_row
from storage.decisions import read_vote
from storage.outside_tables import customers
from storage.tables import actors, approvals, decisions
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_NAME = customers.c.name.label("customer_name")
_IS_PENDING = text("approvals.status = 'pending'")
_SOONEST = (
    select(approvals.c.id)
    .where(_IS_PENDING)
    .order_by(approvals.c.expires_at, approvals.c.id)
    .limit(bindparam("most"))
)
_WAITING = (
    select(approvals, _NAME)
    .outerjoin(customers, customers.c.id == approvals.c.customer_id)
    .where(_IS_PENDING)
    .order_by(approvals.c.expires_at, approvals.c.id)
    .limit(bindparam("most"))
)
_VOTES = (
    select(decisions, actors.c.merged_into)
    .outerjoin(actors, actors.c.id == decisions.c.actor_id)
    .where(decisions.c.approval_id.in_(_SOONEST))
    .order_by(decisions.c.id)
)
_IS_ME = or_(actors.c.id == bindparam("actor"), actors.c.merged_into == bindparam("actor"))
_DEEDS = (
    select(
        approvals,
        _NAME,
        decisions.c.verdict.label("deed_verdict"),
        decisions.c.at.label("deed_at"),
        decisions.c.break_glass.label("deed_glass"),
    )
    .join(actors, actors.c.id == decisions.c.actor_id)
    .join(approvals, approvals.c.id == decisions.c.approval_id)
    .outerjoin(customers, customers.c.id == approvals.c.customer_id)
    .where(decisions.c.at >= bindparam("since"), _IS_ME)
    .order_by(decisions.c.at.desc(), decisions.c.id.desc())
    .limit(bindparam("most"))
)
_VOTE = decisions.alias("vote")
# An edit that was the person's vote, too: both are of the same moment.
_IS_A_VOTE_TOO = exists().where(
    approvals.c.id == decisions.c.approval_id,
    _VOTE.c.approval_id == approvals.c.superseded_by,
    _VOTE.c.at == decisions.c.at,
    _VOTE.c.actor_id == decisions.c.actor_id,
)
_ACTS = (
    select(func.count().label("n"))
    .select_from(decisions)
    .join(actors, actors.c.id == decisions.c.actor_id)
    .where(
        decisions.c.at >= bindparam("since"),
        _IS_ME,
        or_(decisions.c.verdict != Verdict.EDIT.value, ~_IS_A_VOTE_TOO),
    )
)
_OF_ORDER = (
    select(approvals.c.id)
    .where(or_(*(approvals.c.order_id == bindparam(f"order{n}") for n in range(4))))
    .order_by(approvals.c.id.desc())
    .limit(bindparam("most"))
)
_ENDS_SO = approvals.c.id.like(bindparam("pattern"))
_OPEN_TAIL = (
    select(approvals.c.id)
    .where(text("approvals.status IN ('pending','approved','executing','unknown')"), _ENDS_SO)
    .order_by(approvals.c.id.desc())
    .limit(bindparam("most"))
)
# In the order of the index: by id, the whole table would be walked through.
_ENDED_TAIL = (
    select(approvals.c.id)
    .where(approvals.c.ended_at.is_not(None), approvals.c.ended_at >= bindparam("since"), _ENDS_SO)
    .order_by(approvals.c.ended_at.desc())
    .limit(bindparam("most"))
)


def waiting(tx: Tx, most: int) -> tuple[Waiting, ...]:
    """Return what waits for people with its votes, the soonest deadline first, at most so many.

    A damaged row is left out, so that it hides no other.
    """
    votes: dict[str, list[Vote]] = {}
    for row in tx.all(_VOTES, most=most):
        votes.setdefault(row["approval_id"], []).append(read_vote(row))
    return tuple(
        Waiting(approval, tuple(votes.get(approval.id, ())), row["customer_name"] or "")
        for approval, row in _readable(tx.all(_WAITING, most=most))
    )


def deeds(tx: Tx, actor_id: ActorId, since: datetime, most: int) -> tuple[Deed, ...]:
    """Return what a person has decided since a moment, newest first, at most so many votes."""
    rows = tx.all(_DEEDS, actor=actor_id, since=to_micros(since), most=most)
    return tuple(
        Deed(
            approval,
            Verdict(row["deed_verdict"]),
            from_micros(row["deed_at"]),
            row["customer_name"] or "",
            bool(row["deed_glass"]),
        )
        for approval, row in _readable(rows)
    )


def count_deeds(tx: Tx, actor_id: ActorId, since: datetime) -> int:
    """Return how often a person has decided since a moment; an edit that was a vote is one act."""
    row = tx.one(_ACTS, actor=actor_id, since=to_micros(since))
    return 0 if row is None else int(row["n"])


def of_order(tx: Tx, names: Sequence[str], most: int) -> tuple[ApprovalId, ...]:
    """Return the newest requests on an order, which has one of up to four names."""
    spelled = [*names, *([names[-1]] * 4)][:4]
    rows = tx.all(_OF_ORDER, most=most, **{f"order{n}": name for n, name in enumerate(spelled)})
    return tuple(ApprovalId(row["id"]) for row in rows)


def ending_in(tx: Tx, tail: str, since: datetime, most: int) -> tuple[ApprovalId, ...]:
    """Return requests whose id ends so: those that are open, and those that ended since.

    `tail` is of letters and digits only.
    """
    pattern = f"%{tail}"
    rows = [
        *tx.all(_OPEN_TAIL, pattern=pattern, most=most),
        *tx.all(_ENDED_TAIL, pattern=pattern, since=to_micros(since), most=most),
    ]
    # What the policy let run has ended, and may still be open where it came back.
    found = dict.fromkeys(ApprovalId(row["id"]) for row in rows)
    return tuple(found)[:most]


def _readable(rows: Sequence[Row]) -> list[tuple[Approval, Row]]:
    found = []
    for row in rows:
        with suppress(Corrupt):
            found.append((from_row(row), row))
    return found
