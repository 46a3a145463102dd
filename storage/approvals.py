"""Approvals: stored once, moved only along the table, each move guarded by the status it leaves."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TypedDict

from sqlalchemy import bindparam, func, insert, or_, select, text, update
from typing_extensions import Unpack

from agent.domain.approvals import Approval, Event, Status, move
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId, ConversationId, CustomerId, RunId
from agent.domain.payload import Payload
from agent.domain.wording import CONFIDENTIAL
from storage.approval_rows import from_row, to_row
from storage.tables import approvals, joins
from storage.times import time_or_none, to_micros
from storage.transaction import Conflict, Row, Tx

_MUTABLE = (
    "status",
    "use_by",
    "decided_at",
    "ended_at",
    "superseded_by",
    "attempts",
    "result",
    "lease_owner",
    "lease_until",
    "first_sent_at",
    "clean_looks",
    "looked_at",
    "alerted",
    "wake_at",
    "shown_at",
    "pinged",
    "escalations",
    "expires_at",
    "taken_by",
    "taken_at",
    "waits_since",
)
_INSERT = insert(approvals)
_GET = select(approvals).where(approvals.c.id == bindparam("approval"))
_RUN_OF = select(approvals.c.run_id).where(approvals.c.id == bindparam("approval"))
_LOCK = _GET.with_for_update(key_share=True)
_MOVE = (
    update(approvals)
    .where(
        approvals.c.id == bindparam("approval"),
        approvals.c.status == bindparam("from_status"),
        approvals.c.attempts == bindparam("from_attempts"),
    )
    .values({name: bindparam(f"new_{name}") for name in _MUTABLE})
)
_BY_CALL = select(approvals).where(
    approvals.c.run_id == bindparam("run"),
    approvals.c.call_id == bindparam("call"),
    approvals.c.supersedes.is_(None),
)
_PENDING_TWIN = (
    select(approvals)
    .where(approvals.c.proposal_key == bindparam("key"), text("status = 'pending'"))
    .with_for_update(key_share=True)
)
_PENDING_TWIN_SEEN = select(approvals.c.id).where(
    approvals.c.proposal_key == bindparam("key"), text("status = 'pending'")
)
_TWIN_SINCE = (
    select(approvals.c.id, approvals.c.status)
    .where(
        approvals.c.proposal_key == bindparam("key"),
        approvals.c.id > bindparam("after"),
        text("status IN ('rejected','approved','executing','unknown','executed')"),
    )
    .order_by(approvals.c.id.desc())
    .limit(1)
)
_EARLIER_TWIN = (
    select(approvals.c.status)
    .where(
        approvals.c.proposal_key == bindparam("key"),
        approvals.c.ended_at > bindparam("since"),
        text("status IN ('rejected','expired')"),
    )
    .order_by(approvals.c.ended_at.desc())
    .limit(1)
)
_HELD_BY_FLAG = (
    select(approvals.c.id)
    .where(
        approvals.c.customer_id == bindparam("customer"),
        approvals.c.tool == "flag_for_fraud",
        approvals.c.automatic == 0,
        text("status IN ('pending','approved','executing','unknown')"),
    )
    .limit(1)
)
_DECIDED_TWIN = (
    select(approvals.c.status)
    .where(
        approvals.c.conversation_id == bindparam("conversation"),
        approvals.c.proposal_key == bindparam("key"),
        text("status IN ('rejected','superseded')"),
    )
    .order_by(approvals.c.id.desc())
    .limit(1)
)
# Of one order the conversation does not matter within the day: a new chat is no new start.
_REJECTIONS = select(func.count().label("n")).where(
    approvals.c.customer_id == bindparam("customer"),
    approvals.c.tool == bindparam("which_tool"),
    func.coalesce(approvals.c.order_id, "") == bindparam("order"),
    text("status = 'rejected'"),
    or_(
        approvals.c.conversation_id == bindparam("conversation"),
        approvals.c.ended_at > bindparam("since"),
    ),
)
_RESERVED = select(approvals.c.idempotency_key, approvals.c.amount_minor).where(
    approvals.c.order_id == bindparam("order"),
    approvals.c.id != bindparam("besides"),
    approvals.c.amount_minor.is_not(None),
    text("status IN ('executing','unknown','executed')"),
)
_AUTOMATIC_ON_ORDER = select(func.coalesce(func.sum(approvals.c.amount_minor), 0).label("n")).where(
    approvals.c.order_id == bindparam("order"),
    approvals.c.automatic == 1,
    # One that provably had not started is approved again and will run.
    text("status IN ('approved','executing','unknown','executed')"),
)
_AUTOMATIC_BY_CUSTOMER = select(
    func.coalesce(func.sum(approvals.c.amount_minor), 0).label("n")
).where(
    approvals.c.customer_id == bindparam("customer"),
    approvals.c.currency == bindparam("money"),
    approvals.c.created_at > bindparam("since"),
    approvals.c.automatic == 1,
    # One that provably had not started is approved again and will run.
    text("status IN ('approved','executing','unknown','executed')"),
)
_AUTOMATIC_NUMBER = select(func.count().label("n")).where(
    approvals.c.customer_id == bindparam("customer"),
    approvals.c.created_at > bindparam("since"),
    approvals.c.tool == bindparam("which_tool"),
    approvals.c.automatic == 1,
    text("status IN ('approved','executing','unknown','executed')"),
)
_EARLIER_NO = (
    select(approvals.c.status)
    .where(
        approvals.c.order_id == bindparam("order"),
        approvals.c.amount_minor.is_not(None),
        approvals.c.ended_at > bindparam("since"),
        text("status IN ('rejected','expired')"),
    )
    .order_by(approvals.c.ended_at.desc())
    .limit(1)
)
_OPEN_OF_CUSTOMER = select(func.count().label("n")).where(
    approvals.c.customer_id == bindparam("customer"),
    # What the customer does not know of must not keep them from asking.
    *(approvals.c.tool != tool for tool in sorted(CONFIDENTIAL)),
    text("status = 'pending'"),
)
_OPEN_OF_RUN = (
    select(approvals)
    .where(
        approvals.c.run_id == bindparam("run"),
        text("status IN ('pending','approved','executing','unknown')"),
    )
    .order_by(approvals.c.id)
)
_OF_RUN = select(approvals).where(approvals.c.run_id == bindparam("run")).order_by(approvals.c.id)
_OPEN_OF_CONVERSATION = (
    select(approvals)
    .where(
        approvals.c.conversation_id == bindparam("conversation"),
        text("status IN ('pending','approved','executing','unknown')"),
    )
    .order_by(approvals.c.id)
)
_HEARD_IN = (
    select(approvals)
    .where(
        or_(
            approvals.c.conversation_id == bindparam("conversation"),
            approvals.c.id.in_(
                select(joins.c.approval_id).where(
                    joins.c.conversation_id == bindparam("conversation")
                )
            ),
        )
    )
    .order_by(approvals.c.id)
)
_LATEST_HEARD_IN = _HEARD_IN.order_by(None).order_by(approvals.c.id.desc()).limit(bindparam("most"))
_OF_CONVERSATION = (
    select(approvals)
    .where(approvals.c.conversation_id == bindparam("conversation"))
    .order_by(approvals.c.id)
)
_LATEST_OF_CUSTOMER = (
    select(approvals)
    .where(
        approvals.c.customer_id == bindparam("customer"),
        *(approvals.c.tool != tool for tool in sorted(CONFIDENTIAL)),
    )
    .order_by(approvals.c.created_at.desc(), approvals.c.id.desc())
    .limit(bindparam("most"))
)
_PAGE = (
    select(approvals)
    .where(approvals.c.status == bindparam("wanted"), approvals.c.id > bindparam("after"))
    .order_by(approvals.c.id)
    .limit(bindparam("most"))
)
# One statement a live status, so that the partial index serves it on both databases.
_DUE = {
    status: select(approvals)
    .where(
        text(f"status = '{status.value}'"),
        approvals.c.wake_at.is_not(None),
        approvals.c.wake_at <= bindparam("now"),
    )
    .order_by(approvals.c.wake_at)
    .limit(1)
    .with_for_update(key_share=True, skip_locked=True)
    for status in (
        Status.PENDING,
        Status.APPROVED,
        Status.EXECUTING,
        Status.UNKNOWN,
        Status.EXECUTED,
    )
}
_NEXT_WAKE = select(func.min(approvals.c.wake_at).label("at")).where(
    approvals.c.status == bindparam("wanted"), approvals.c.wake_at.is_not(None)
)
_WAITING = (
    select(approvals)
    .where(text("status IN ('pending','approved','unknown')"))
    .order_by(approvals.c.id)
)
_COUNT = select(func.count().label("n"), func.min(approvals.c.created_at).label("oldest")).where(
    approvals.c.status == bindparam("wanted")
)
_SOME_PENDING = select(func.count().label("n")).select_from(
    select(approvals.c.id).where(text("status = 'pending'")).limit(bindparam("most")).subquery()
)
_COUNTS = select(approvals.c.status, func.count().label("n")).group_by(approvals.c.status)
_RELEASE_LOST = (
    update(approvals)
    .where(text("status = 'executing'"), approvals.c.lease_owner == bindparam("owner"))
    .values(wake_at=bindparam("now"), lease_until=bindparam("now"))
)
_NOTE_SHOWN = (
    update(approvals)
    .where(
        approvals.c.id == bindparam("approval"),
        approvals.c.shown_at.is_(None),
        text("status = 'pending'"),
    )
    .values(shown_at=bindparam("now"))
)
_UNSEEN = select(func.count().label("n")).where(
    text("status = 'expired'"),
    or_(approvals.c.shown_at.is_(None), approvals.c.shown_at >= approvals.c.expires_at),
)
_SET_ASIDE = update(approvals).where(approvals.c.id == bindparam("approval")).values(wake_at=None)


class Changes(TypedDict, total=False):
    """What may change when an approval moves."""

    use_by: datetime | None
    decided_at: datetime | None
    ended_at: datetime | None
    superseded_by: ApprovalId | None
    attempts: int
    result: Payload | None
    lease_owner: str | None
    lease_until: datetime | None
    first_sent_at: datetime | None
    clean_looks: int
    looked_at: datetime | None
    alerted: bool
    wake_at: datetime | None
    shown_at: datetime | None
    pinged: int
    escalations: int
    expires_at: datetime
    taken_by: str | None
    taken_at: datetime | None
    waits_since: datetime | None


def add(tx: Tx, approval: Approval) -> None:
    """Store a new approval; raises Conflict for a second row of one call or a pending twin."""
    tx.put(_INSERT, to_row(approval))


def get(tx: Tx, approval_id: ApprovalId, *, lock: bool = False) -> Approval | None:
    """Return the approval, None if there is none; raises Corrupt if the row does not validate."""
    row = tx.one(_LOCK if lock else _GET, approval=approval_id)
    return None if row is None else from_row(row)


def run_of(tx: Tx, approval_id: ApprovalId) -> RunId | None:
    """Return the run of an approval, None if there is no such approval."""
    row = tx.one(_RUN_OF, approval=approval_id)
    return None if row is None else RunId(row["run_id"])


def lock(tx: Tx, approval_id: ApprovalId) -> Approval:
    """Lock a row that is known to be there and return it; raises Corrupt if it is gone."""
    found = get(tx, approval_id, lock=True)
    if found is None:
        raise Corrupt(approval_id, "the row is gone")
    return found


def shift(
    tx: Tx, approval: Approval, event: Event | None, **changes: Unpack[Changes]
) -> Approval | None:
    """Move along the table (or stay, with `event` None) and return the row as it is now.

    Returns None when the row is no longer as `approval` says: somebody else was first.
    """
    target = approval.status if event is None else move(approval.status, event)
    moved = replace(approval, status=target, **changes)
    values = to_row(moved)
    won = tx.change(
        _MOVE,
        approval=approval.id,
        from_status=approval.status.value,
        from_attempts=approval.attempts,
        **{f"new_{name}": values[name] for name in _MUTABLE},
    )
    return moved if won == 1 else None


def shift_locked(
    tx: Tx, approval: Approval, event: Event | None, **changes: Unpack[Changes]
) -> Approval:
    """Move a row that this transaction has locked and read; raises Conflict if it changed.

    Under the lock nobody can be first, so that would be a fault of the desk.
    """
    moved = shift(tx, approval, event, **changes)
    if moved is None:
        raise Conflict(f"approval {approval.id} changed under its lock")
    return moved


def by_call(tx: Tx, run_id: RunId, call_id: str) -> Approval | None:
    """Return the approval that a tool call led to."""
    row = tx.one(_BY_CALL, run=run_id, call=call_id)
    return None if row is None else from_row(row)


def pending_twin(tx: Tx, key: str) -> Approval | None:
    """Lock and return the pending approval of an identical proposal."""
    row = tx.one(_PENDING_TWIN, key=key)
    return None if row is None else from_row(row)


def waiting_twin(tx: Tx, key: str) -> ApprovalId | None:
    """Return which identical proposal waits, without holding it."""
    row = tx.one(_PENDING_TWIN_SEEN, key=key)
    return None if row is None else ApprovalId(row["id"])


def twin_since(tx: Tx, key: str, after: ApprovalId) -> tuple[ApprovalId, Status] | None:
    """Return the newest identical proposal after `after` that was decided, and how it stands."""
    row = tx.one(_TWIN_SINCE, key=key, after=after)
    return None if row is None else (ApprovalId(row["id"]), Status(row["status"]))


def earlier_twin(tx: Tx, key: str, since: datetime) -> Status | None:
    """Return how the newest identical proposal that got no yes after `since` ended."""
    row = tx.one(_EARLIER_TWIN, key=key, since=to_micros(since))
    return None if row is None else Status(row["status"])


def is_flag_open(tx: Tx, customer_id: CustomerId) -> bool:
    """Tell whether a fraud flag on the customer waits for people or for its execution."""
    return tx.one(_HELD_BY_FLAG, customer=customer_id) is not None


def decided_twin(tx: Tx, conversation_id: ConversationId, key: str) -> Status | None:
    """Return whether people rejected or replaced an identical proposal in this conversation."""
    row = tx.one(_DECIDED_TWIN, conversation=conversation_id, key=key)
    return None if row is None else Status(row["status"])


def rejections(
    tx: Tx,
    customer_id: CustomerId,
    about: tuple[str, str | None],
    conversation_id: ConversationId,
    since: datetime,
) -> int:
    """Return how often people rejected a customer's requests by one tool on one order.

    `about` is the tool and the order; those of the same conversation count, and all that ended
    after `since`.
    """
    tool, order_id = about
    row = tx.one(
        _REJECTIONS,
        customer=customer_id,
        which_tool=tool,
        order=order_id or "",
        conversation=conversation_id,
        since=to_micros(since),
    )
    return _number(row)


def reservations(tx: Tx, order_id: str, besides: ApprovalId | None) -> dict[str, int]:
    """Return minor units by idempotency key of all that holds the order's money."""
    rows = tx.all(_RESERVED, order=order_id, besides=besides or "")
    return {row["idempotency_key"]: row["amount_minor"] for row in rows}


def automatic_on_order(tx: Tx, order_id: str) -> int:
    """Return the minor units that automatic refunds took from the order."""
    return _number(tx.one(_AUTOMATIC_ON_ORDER, order=order_id))


def automatic_by_customer(tx: Tx, customer_id: CustomerId, currency: str, since: datetime) -> int:
    """Return the minor units of automatic refunds to the customer after `since`."""
    row = tx.one(
        _AUTOMATIC_BY_CUSTOMER, customer=customer_id, money=currency, since=to_micros(since)
    )
    return _number(row)


def automatic_number(tx: Tx, customer_id: CustomerId, tool: str, since: datetime) -> int:
    """Return how often a tool ran for the customer without a person after `since`."""
    row = tx.one(_AUTOMATIC_NUMBER, customer=customer_id, which_tool=tool, since=to_micros(since))
    return _number(row)


def earlier_no(tx: Tx, order_id: str, since: datetime) -> Status | None:
    """Return how the order's newest unsuccessful approval after `since` ended, if there is one."""
    row = tx.one(_EARLIER_NO, order=order_id, since=to_micros(since))
    return None if row is None else Status(row["status"])


def count_pending_of_customer(tx: Tx, customer_id: CustomerId) -> int:
    """Return how many of the customer's requests wait for people."""
    return _number(tx.one(_OPEN_OF_CUSTOMER, customer=customer_id))


def open_of_run(tx: Tx, run_id: RunId) -> tuple[Approval, ...]:
    """Return the run's approvals that have not ended."""
    return readable(tx.all(_OPEN_OF_RUN, run=run_id))


def of_run(tx: Tx, run_id: RunId) -> tuple[Approval, ...]:
    """Return all approvals of the run."""
    return readable(tx.all(_OF_RUN, run=run_id))


def open_of_conversation(tx: Tx, conversation_id: ConversationId) -> tuple[Approval, ...]:
    """Return the conversation's approvals that have not ended."""
    return readable(tx.all(_OPEN_OF_CONVERSATION, conversation=conversation_id))


def heard_in(tx: Tx, conversation_id: ConversationId) -> tuple[Approval, ...]:
    """Return all approvals that the conversation asked for or joined, oldest first."""
    return readable(tx.all(_HEARD_IN, conversation=conversation_id))


def latest_heard_in(tx: Tx, conversation_id: ConversationId, limit: int) -> tuple[Approval, ...]:
    """Return the newest of them, oldest first, with every one that still waits."""
    latest = readable(tx.all(_LATEST_HEARD_IN, conversation=conversation_id, most=limit))
    waiting = open_of_conversation(tx, conversation_id)
    found = {one.id: one for one in (*latest, *waiting)}
    return tuple(found[key] for key in sorted(found))


def of_conversation(tx: Tx, conversation_id: ConversationId) -> tuple[Approval, ...]:
    """Return all approvals of the conversation, oldest first."""
    return readable(tx.all(_OF_CONVERSATION, conversation=conversation_id))


def latest_of_customer(tx: Tx, customer_id: CustomerId, limit: int) -> tuple[Approval, ...]:
    """Return the newest approvals that the customer knows of."""
    return readable(tx.all(_LATEST_OF_CUSTOMER, customer=customer_id, most=limit))


def page(tx: Tx, status: Status, after: str, limit: int) -> tuple[Approval, ...]:
    """Return approvals of a status with id > `after`, oldest first.

    A damaged row is left out, so that it hides no other; whoever touches it reports it.
    """
    found: list[Approval] = []
    while rows := tx.all(_PAGE, wanted=status.value, after=after, most=limit - len(found)):
        found += readable(rows)
        after = rows[-1]["id"]
        if len(found) == limit:
            break
    return tuple(found)


def waiting(tx: Tx) -> tuple[Approval, ...]:
    """Return everything that waits, for people, its execution or an answer, oldest first."""
    return readable(tx.all(_WAITING))


def take_due(tx: Tx, status: Status, now: datetime) -> Approval | None:
    """Lock and return the row of a live status whose `wake_at` came first, if any has come.

    A row that somebody else holds at this moment is left to them.
    """
    row = tx.one(_DUE[status], now=to_micros(now))
    return None if row is None else from_row(row)


def count(tx: Tx, status: Status) -> tuple[int, datetime | None]:
    """Return how many approvals have the status, and when the oldest was made."""
    row = tx.one(_COUNT, wanted=status.value)
    return (0, None) if row is None else (row["n"], time_or_none(row["oldest"]))


def is_more_pending(tx: Tx, than: int) -> bool:
    """Tell whether more requests than this wait for people; no more of them are looked at."""
    return _number(tx.one(_SOME_PENDING, most=than + 1)) > than


def counts(tx: Tx) -> dict[Status, int]:
    """Return how many approvals stand where."""
    found = {Status(row["status"]): int(row["n"]) for row in tx.all(_COUNTS)}
    return {status: found.get(status, 0) for status in Status}


def release_leases(tx: Tx, owner: str, now: datetime) -> int:
    """Make executions of a dead replica due for the sweep at once."""
    return tx.change(_RELEASE_LOST, owner=owner, now=to_micros(now))


def note_shown(tx: Tx, approval_id: ApprovalId, now: datetime) -> None:
    """Note that people can see a request that waits for them, from the first time on."""
    tx.change(_NOTE_SHOWN, approval=approval_id, now=to_micros(now))


def unseen(tx: Tx) -> int:
    """Return how many requests expired although nobody could see them."""
    return _number(tx.one(_UNSEEN))


def set_aside(tx: Tx, approval_id: ApprovalId) -> None:
    """Take a row that does not validate off the work list; its status stays."""
    tx.change(_SET_ASIDE, approval=approval_id)


def readable(rows: Sequence[Row]) -> tuple[Approval, ...]:
    """Return the rows that validate, so that a damaged one hides no other."""
    found = []
    for row in rows:
        with suppress(Corrupt):
            found.append(from_row(row))
    return tuple(found)


def _number(row: Row | None) -> int:
    return 0 if row is None else int(row["n"])
