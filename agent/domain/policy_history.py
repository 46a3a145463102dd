"""What had happened to a customer and an order before a moment, counted from rows as they are now.

A row tells its whole past: it waited from when it was made until it was decided or ended, and an
automatic one counted from when it was made until it ended badly.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from agent.domain.approvals import Status
from agent.domain.ids import CustomerId
from agent.domain.policy import Policy
from agent.domain.wording import CONFIDENTIAL

# When a row was made, and its id where two were made at once.
_Place = tuple[datetime, str]
# Behind every id.
_LAST = "\U0010ffff"
# An automatic effect that counts for good, as far as anybody knows.
_COUNTED = frozenset({Status.APPROVED, Status.EXECUTING, Status.UNKNOWN, Status.EXECUTED})


@dataclass(frozen=True, slots=True)
class PastRow:
    """As much of a stored approval as later proposals are judged by; `minor` is its amount."""

    id: str
    customer_id: CustomerId
    order_id: str | None
    tool: str
    currency: str | None
    minor: int | None
    automatic: bool
    status: Status
    created_at: datetime
    decided_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What was proposed, for whom and when; `id` is None where no row was made of it."""

    id: str | None
    tool: str
    customer_id: CustomerId
    order_id: str | None
    currency: str | None
    at: datetime

    @property
    def place(self) -> _Place:
        """Return what every row that was there before lies under."""
        return (self.at, _LAST if self.id is None else self.id)


@dataclass(frozen=True, slots=True)
class Moment:
    """What was the case when a proposal was judged.

    The sums are minor units of automatic refunds before it, the number is that of automatic
    effects of its tool to the customer, in the windows of the policy that is tried.
    """

    open_approvals: int = 0
    automatic_on_order: int = 0
    automatic_by_customer: int = 0
    automatic_number: int = 0
    earlier_no: Literal["rejected", "expired"] | None = None
    stopped: bool = False
    breaker_open: bool = False


@dataclass(slots=True)
class _Line:
    """Amounts in the order of their rows: those that count for good, and those that ended badly."""

    places: list[_Place] = field(default_factory=list)
    sums: list[int] = field(default_factory=lambda: [0])
    ended: list[tuple[_Place, datetime, int]] = field(default_factory=list)

    def add(self, row: PastRow, amount: int) -> None:
        """Take in the next row."""
        place = (row.created_at, row.id)
        if row.status in _COUNTED:
            self.places.append(place)
            self.sums.append(self.sums[-1] + amount)
        elif row.ended_at is not None:
            self.ended.append((place, row.ended_at, amount))

    def total(self, asked: Asked, since: datetime | None) -> int:
        """Return the sum of what counted then and was made after `since`."""
        first = 0 if since is None else bisect_right(self.places, (since, _LAST))
        behind = bisect_left(self.places, asked.place)
        lasting = self.sums[behind] - self.sums[first]
        return lasting + sum(
            amount
            for place, ended_at, amount in self.ended
            if place < asked.place and (since is None or place[0] > since) and ended_at > asked.at
        )


@dataclass(slots=True)
class _Queue:
    """When requests of a customer began to wait, and when they ceased to."""

    begun: list[_Place] = field(default_factory=list)
    left: list[datetime] = field(default_factory=list)


class History:
    """The past of some customers and orders; what it was not given did not happen."""

    def __init__(self, of_customers: Iterable[PastRow], of_orders: Iterable[PastRow]) -> None:
        """Take in all rows of the customers' recent past, and all of the orders'."""
        self._by_money = defaultdict[tuple[str, str | None], _Line](_Line)
        self._by_tool = defaultdict[tuple[str, str], _Line](_Line)
        self._by_order = defaultdict[str | None, _Line](_Line)
        self._queues = defaultdict[str, _Queue](_Queue)
        self._endings = defaultdict[str | None, list[tuple[datetime, str, Status]]](list)
        for row in sorted(of_customers, key=_place):
            self._add_to_customer(row)
        for row in sorted(of_orders, key=_place):
            self._add_to_order(row)
        for queue in self._queues.values():
            queue.left.sort()
        for endings in self._endings.values():
            endings.sort()

    def moment(self, asked: Asked, policy: Policy) -> Moment:
        """Return what was the case, in the windows of a policy."""
        refunds, emails = policy.refunds, policy.emails
        is_email = asked.tool == "send_email"
        window = emails.customer_window_s if is_email else refunds.customer_window_s
        money = self._by_money[asked.customer_id, asked.currency]
        return Moment(
            open_approvals=self._open(asked),
            automatic_on_order=self._by_order[asked.order_id].total(asked, None),
            automatic_by_customer=money.total(asked, _before(asked, refunds.cumulative_window_s)),
            automatic_number=self._by_tool[asked.customer_id, asked.tool].total(
                asked, _before(asked, window)
            ),
            earlier_no=self._earlier_no(asked, _before(asked, refunds.earlier_no_s)),
        )

    def _add_to_customer(self, row: PastRow) -> None:
        if row.automatic:
            self._by_tool[row.customer_id, row.tool].add(row, 1)
            self._by_money[row.customer_id, row.currency].add(row, row.minor or 0)
        elif row.tool not in CONFIDENTIAL:
            queue, left = self._queues[row.customer_id], row.decided_at or row.ended_at
            queue.begun.append(_place(row))
            if left is not None:
                queue.left.append(left)

    def _add_to_order(self, row: PastRow) -> None:
        if row.minor is None:
            return
        if row.automatic:
            self._by_order[row.order_id].add(row, row.minor)
        if row.status in {Status.REJECTED, Status.EXPIRED} and row.ended_at is not None:
            self._endings[row.order_id].append((row.ended_at, row.id, row.status))

    def _open(self, asked: Asked) -> int:
        queue = self._queues[asked.customer_id]
        return bisect_left(queue.begun, asked.place) - bisect_right(queue.left, asked.at)

    def _earlier_no(self, asked: Asked, since: datetime) -> Literal["rejected", "expired"] | None:
        endings = self._endings[asked.order_id]
        number = bisect_right(endings, (asked.at, _LAST, Status.PENDING))
        # A row's own end comes after it was judged.
        if number and endings[number - 1][1] == asked.id:
            number -= 1
        if not number or endings[number - 1][0] <= since:
            return None
        return "rejected" if endings[number - 1][2] is Status.REJECTED else "expired"


def _place(row: PastRow) -> _Place:
    return (row.created_at, row.id)


def _before(asked: Asked, seconds: int) -> datetime:
    return asked.at - timedelta(seconds=seconds)
