"""Past proposals, page by page, and the past of their customers and orders."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, or_, select, text

from agent.domain.approvals import Approval, Status
from agent.domain.audit import DESK_CHAIN, AuditType
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.ids import ConversationId, CustomerId, RunId
from agent.domain.payload import parse_strict
from agent.domain.policy_history import Asked, History, PastRow
from agent.domain.policy_trial import SWITCHING, SwitchEvent
from storage.approval_rows import from_row
from storage.audit_tables import audit
from storage.tables import approvals, conversations, runs
from storage.times import from_micros, time_or_none, to_micros
from storage.transaction import Row, Tx

# No window of a policy is longer than 30 days, and no deadline than twice that, with its further
# period; a day more for what lags behind. In business hours it may lie further off: what still
# waits from before then is not counted.
_LOOKBACK = timedelta(days=61)
_past = approvals.alias("past")
_PAST = select(
    _past.c.id,
    _past.c.customer_id,
    _past.c.order_id,
    _past.c.tool,
    _past.c.currency,
    _past.c.amount_minor,
    _past.c.automatic,
    _past.c.status,
    _past.c.created_at,
    _past.c.decided_at,
    _past.c.ended_at,
).where(_past.c.created_at <= bindparam("newest"))
# What a customer's requests are judged by lies in the windows; of an order it is all that ran,
# and how else a refund of it ended.
_LATELY = _PAST.where(_past.c.created_at > bindparam("oldest"))
_TELLING = _PAST.where(
    _past.c.amount_minor.is_not(None),
    text("(past.automatic = 1 OR past.status IN ('rejected','expired'))"),
)
_PROPOSED = (
    approvals.c.id > bindparam("after"),
    approvals.c.supersedes.is_(None),
    approvals.c.created_at >= bindparam("since"),
    approvals.c.created_at <= bindparam("until"),
)
_PAGE = select(approvals).where(*_PROPOSED).order_by(approvals.c.id).limit(bindparam("most"))
_UP_TO_LAST = (*_PROPOSED, approvals.c.id <= bindparam("last"))
_OF_CUSTOMERS = _LATELY.where(
    _past.c.customer_id.in_(select(approvals.c.customer_id).where(*_UP_TO_LAST))
)
_OF_ORDERS = _TELLING.where(_past.c.order_id.in_(select(approvals.c.order_id).where(*_UP_TO_LAST)))
_OF_CUSTOMER = _LATELY.where(_past.c.customer_id == bindparam("customer"))
_OF_ORDER = _TELLING.where(_past.c.order_id == bindparam("order"))
# The trail is as large as the desk is old and has no order in time, so it is read run by run.
_RUNS = (
    select(runs.c.id)
    .where(runs.c.id > bindparam("after"), runs.c.updated_at >= bindparam("since"))
    .order_by(runs.c.id)
    .limit(bindparam("most"))
)
_REFUSED = (
    select(
        audit.c.chain,
        audit.c.at,
        audit.c.body,
        runs.c.conversation_id,
        conversations.c.customer_id,
    )
    .select_from(audit)
    .join(runs, runs.c.id == audit.c.chain)
    .join(conversations, conversations.c.id == runs.c.conversation_id)
    .where(
        runs.c.id > bindparam("after"),
        runs.c.id <= bindparam("last"),
        runs.c.updated_at >= bindparam("since"),
        audit.c.type == AuditType.PROPOSAL_REFUSED.value,
        audit.c.at >= bindparam("since"),
        audit.c.at <= bindparam("until"),
        conversations.c.customer_id.is_not(None),
    )
    .order_by(audit.c.chain, audit.c.seq)
)
_SWITCHES = (
    select(audit.c.type, audit.c.at, audit.c.body)
    .where(
        audit.c.chain == DESK_CHAIN,
        or_(*(audit.c.type == tag.value for tag in SWITCHING)),
    )
    .order_by(audit.c.seq)
)


@dataclass(frozen=True, slots=True)
class Period:
    """The proposals that are looked at: made at or after `since`, and no later than `until`."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class ProposalPage:
    """Approvals that the gate made, with the past of their customers and orders.

    An approval is None where the row does not validate; `last` is None when there are no more.
    """

    approvals: tuple[Approval | None, ...]
    history: History
    last: str | None


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that the gate refused; `body` is the stored text of the trail's event."""

    run_id: RunId
    conversation_id: ConversationId
    customer_id: CustomerId
    at: datetime
    body: str


@dataclass(frozen=True, slots=True)
class RefusedPage:
    """What the runs up to and with `last` had refused; `last` is None when there are no more."""

    calls: tuple[RefusedCall, ...]
    last: RunId | None


def proposed(tx: Tx, period: Period, after: str, limit: int) -> ProposalPage:
    """Return up to `limit` approvals with id > `after`, in the order of their ids.

    What people made of them by an edit, or by asking again, is not among them.
    """
    here = {"after": after, "since": to_micros(period.since), "until": to_micros(period.until)}
    rows = tx.all(_PAGE, most=limit, **here)
    if not rows:
        return ProposalPage((), History((), ()), None)
    times = [from_micros(row["created_at"]) for row in rows]
    last, newest = str(rows[-1]["id"]), to_micros(max(times))
    oldest = to_micros(min(times) - _LOOKBACK)
    of_customers = tx.all(_OF_CUSTOMERS, last=last, oldest=oldest, newest=newest, **here)
    of_orders = tx.all(_OF_ORDERS, last=last, newest=newest, **here)
    history = History(_past_rows(of_customers), _past_rows(of_orders))
    return ProposalPage(tuple(_readable(row) for row in rows), history, last)


def past_of(tx: Tx, asked: Asked) -> History:
    """Return the past of one customer and order, for a call of which no row was made."""
    newest, oldest = to_micros(asked.at), to_micros(asked.at - _LOOKBACK)
    of_customer = tx.all(_OF_CUSTOMER, customer=asked.customer_id, oldest=oldest, newest=newest)
    of_order = tx.all(_OF_ORDER, order=asked.order_id, newest=newest)
    return History(_past_rows(of_customer), _past_rows(of_order))


def refused(tx: Tx, period: Period, after: str, limit: int) -> RefusedPage:
    """Return what up to `limit` runs with id > `after` had refused; a visitor's is left out."""
    since = to_micros(period.since)
    found = tx.all(_RUNS, after=after, since=since, most=limit)
    if not found:
        return RefusedPage((), None)
    last = RunId(found[-1]["id"])
    until = to_micros(period.until)
    rows = tx.all(_REFUSED, after=after, last=last, since=since, until=until)
    return RefusedPage(tuple(_refused(row) for row in rows), last)


def switches(tx: Tx) -> tuple[SwitchEvent, ...]:
    """Return every move of breaker and stop switch that the trail tells of, oldest first."""
    return tuple(
        SwitchEvent(row["type"], from_micros(row["at"]), _retry_at(row["body"]))
        for row in tx.all(_SWITCHES)
    )


def _readable(row: Row) -> Approval | None:
    with suppress(Corrupt):
        return from_row(row)
    return None


def _past_rows(rows: Sequence[Row]) -> list[PastRow]:
    return [
        PastRow(
            id=row["id"],
            customer_id=CustomerId(row["customer_id"]),
            order_id=row["order_id"],
            tool=row["tool"],
            currency=row["currency"],
            minor=row["amount_minor"],
            automatic=bool(row["automatic"]),
            status=Status(row["status"]),
            created_at=from_micros(row["created_at"]),
            decided_at=time_or_none(row["decided_at"]),
            ended_at=time_or_none(row["ended_at"]),
        )
        for row in rows
    ]


def _refused(row: Row) -> RefusedCall:
    return RefusedCall(
        run_id=RunId(row["chain"]),
        conversation_id=ConversationId(row["conversation_id"]),
        customer_id=CustomerId(row["customer_id"]),
        at=from_micros(row["at"]),
        body=row["body"],
    )


def _retry_at(body: str) -> datetime | None:
    try:
        match parse_strict(body):
            case {"data": {"retry_at": str(at)}}:
                return datetime.fromisoformat(at)
            case _:
                return None
    except (ValueError, InvalidInput):
        return None
