"""What had happened before a moment: the edges of each window, and rows of the same instant."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from agent.domain.approvals import Status
from agent.domain.ids import CustomerId
from agent.domain.policy_history import Asked, History, Moment, PastRow
from tests.support.builders import policy
from tests.support.doubles import START

CUSTOMER = CustomerId("cus_ana")
MICRO = timedelta(microseconds=1)
WINDOWS = policy(
    refunds={"cumulative_window_s": 100, "customer_window_s": 200, "earlier_no_s": 300},
    emails={"customer_window_s": 400},
)


def ago(seconds: float) -> datetime:
    return START - timedelta(seconds=seconds)


def ran(**changes: Any) -> PastRow:
    """Return an automatic refund of 5.00 USD a second ago."""
    row = PastRow(
        id="apr_1",
        customer_id=CUSTOMER,
        order_id="ORD-1001",
        tool="issue_refund",
        currency="USD",
        minor=500,
        automatic=True,
        status=Status.EXECUTED,
        created_at=ago(1),
        decided_at=ago(1),
        ended_at=ago(1),
    )
    return replace(row, **changes)


def waited(**changes: Any) -> PastRow:
    """Return a refund that waits since a second ago."""
    row = ran(automatic=False, status=Status.PENDING, decided_at=None, ended_at=None)
    return replace(row, **changes)


def moment(*rows: PastRow, **asked: Any) -> Moment:
    proposal = Asked("apr_5", "issue_refund", CUSTOMER, "ORD-1001", "USD", START)
    return History(rows, rows).moment(replace(proposal, **asked), WINDOWS)


def test_without_a_past_nothing_counts() -> None:
    assert moment() == Moment()


@pytest.mark.parametrize(
    ("created_at", "by_customer", "number"),
    [
        (ago(100) + MICRO, 500, 1),
        (ago(100), 0, 1),
        (ago(200) + MICRO, 0, 1),
        (ago(200), 0, 0),
        (ago(10**7), 0, 0),
    ],
)
def test_a_window_begins_just_after_its_length(
    created_at: datetime, by_customer: int, number: int
) -> None:
    found = moment(ran(created_at=created_at))
    assert (found.automatic_by_customer, found.automatic_number) == (by_customer, number)
    # Of an order all that ran counts, however long ago.
    assert found.automatic_on_order == 500


@pytest.mark.parametrize(
    ("row_id", "asked_id", "counts"),
    [
        ("apr_4", "apr_5", True),
        ("apr_5", "apr_5", False),
        ("apr_6", "apr_5", False),
        ("apr_6", None, True),
    ],
)
def test_of_what_was_made_at_the_same_instant_the_id_tells_the_order(
    row_id: str, asked_id: str | None, counts: bool
) -> None:
    found = moment(ran(id=row_id, created_at=START), id=asked_id)
    assert (found.automatic_on_order, found.automatic_number) == (500 * counts, counts)
    failed = ran(
        id=row_id, created_at=START, status=Status.FAILED, ended_at=START + timedelta(seconds=9)
    )
    assert moment(failed, id=asked_id).automatic_by_customer == 500 * counts


def test_what_came_later_does_not_count() -> None:
    later = ran(created_at=START + MICRO, ended_at=START + MICRO)
    assert moment(later) == Moment()
    assert moment(replace(later, status=Status.FAILED)) == Moment()


@pytest.mark.parametrize("status", [Status.FAILED, Status.STALE, Status.CANCELLED])
def test_what_ended_badly_counted_until_then(status: Status) -> None:
    for ended_at, minor in ((START + MICRO, 500), (START, 0), (ago(0.5), 0)):
        found = moment(ran(status=status, ended_at=ended_at))
        assert found.automatic_on_order == minor
        assert found.automatic_by_customer == minor
        assert found.automatic_number == bool(minor)
    long_ago = ran(status=status, created_at=ago(150), ended_at=START + MICRO)
    assert moment(long_ago).automatic_by_customer == 0
    # No row is so; one that was would count for nothing.
    assert moment(ran(status=status, ended_at=None)) == Moment()


@pytest.mark.parametrize(
    "status", [Status.APPROVED, Status.EXECUTING, Status.UNKNOWN, Status.EXECUTED]
)
def test_what_may_still_be_paid_counts(status: Status) -> None:
    assert moment(ran(status=status, ended_at=None)).automatic_on_order == 500


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"customer_id": "cus_bob"}, Moment(automatic_on_order=500)),
        ({"order_id": "ORD-1"}, Moment(automatic_by_customer=500, automatic_number=1)),
        ({"currency": "EUR"}, Moment(automatic_on_order=500, automatic_number=1)),
        ({"automatic": False, "status": Status.EXECUTED}, Moment()),
        ({"tool": "send_email", "minor": None, "currency": None, "order_id": None}, Moment()),
        ({"tool": "send_email", "minor": None, "currency": None}, Moment()),
    ],
)
def test_what_counts_is_the_same_customers_order_and_currency(
    changes: dict[str, Any], found: Moment
) -> None:
    assert moment(ran(**changes)) == found


def test_emails_are_counted_in_a_window_of_their_own() -> None:
    mail = ran(tool="send_email", minor=None, currency=None, created_at=ago(400) + MICRO)
    asked = {"tool": "send_email", "currency": None, "order_id": None}
    assert moment(mail, ran(id="apr_2"), **asked) == Moment(automatic_number=1)
    assert moment(replace(mail, created_at=ago(400)), **asked) == Moment()


def test_a_request_waits_until_it_is_decided_or_ends() -> None:
    assert moment(waited(), waited(id="apr_2")).open_approvals == 2
    for left, number in ((START + MICRO, 1), (START, 0), (ago(0.5), 0)):
        assert moment(waited(decided_at=left)).open_approvals == number
        assert moment(waited(ended_at=left)).open_approvals == number
        assert moment(waited(decided_at=left, ended_at=START + MICRO)).open_approvals == number
    assert moment(waited(created_at=START, id="apr_6")).open_approvals == 0
    assert moment(waited(customer_id="cus_bob")).open_approvals == 0
    assert moment(waited(tool="flag_for_fraud", minor=None)).open_approvals == 0


@pytest.mark.parametrize(
    ("status", "told"), [(Status.REJECTED, "rejected"), (Status.EXPIRED, "expired")]
)
def test_an_earlier_no_counts_from_its_end_for_its_window(status: Status, told: str) -> None:
    for ended_at, found in (
        (START, told),
        (START + MICRO, None),
        (ago(300) + MICRO, told),
        (ago(300), None),
    ):
        row = waited(created_at=ago(10**6), status=status, ended_at=ended_at)
        assert moment(row).earlier_no == found
        assert moment(replace(row, order_id="ORD-1")).earlier_no is None
        assert moment(replace(row, minor=None)).earlier_no is None
    assert moment(waited(status=Status.CANCELLED, ended_at=ago(1))).earlier_no is None


def test_the_newest_no_is_told_and_never_the_proposals_own() -> None:
    first = waited(status=Status.REJECTED, ended_at=ago(9))
    second = waited(id="apr_2", status=Status.EXPIRED, ended_at=ago(3))
    assert moment(first, second).earlier_no == "expired"
    own = waited(id="apr_5", created_at=START, status=Status.EXPIRED, ended_at=START)
    assert moment(first, own).earlier_no == "rejected"
    assert moment(own).earlier_no is None
