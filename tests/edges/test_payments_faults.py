"""Ordered failures of the provider: what is done, what is said, and for how long."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from agent.domain.ids import ApprovalId
from agent.domain.money import Money
from agent.ports import Accepted, Declined, NoClearAnswer, PaymentAnswer, RefundRequest
from agent.providers.ledger_payments import LedgerPayments
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from storage import ledger
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock


def request(number: int) -> RefundRequest:
    return RefundRequest(f"rd-{number}", ApprovalId(f"apr_{number}"), "ORD-1001", Money(500, "USD"))


@pytest.fixture
def book(store: Store, clock: HandClock, ids: CountingIds) -> LedgerPayments:
    with store.transaction() as tx:
        chair = ledger.Payment("ORD-1001", Money(16000, "USD"), disputed=False)
        ledger.save_payments(tx, [chair])
    return LedgerPayments(store, clock, ids)


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def payments(book: LedgerPayments, waited: list[float]) -> FaultyPayments:
    return FaultyPayments(book, waited.append)


def test_nothing_fails_unless_ordered(payments: FaultyPayments, book: LedgerPayments) -> None:
    answer = payments.refund(request(1))
    assert isinstance(answer, Accepted)
    assert payments.view("ORD-1001", "USD") == book.view("ORD-1001", "USD")
    assert payments.find(request(1)) == Accepted(answer.refund, replayed=True)


@pytest.mark.parametrize(
    ("kind", "answer", "entries", "pauses"),
    [
        (FaultKind.TIMEOUT_BEFORE, NoClearAnswer, 0, []),
        (FaultKind.TIMEOUT_AFTER, NoClearAnswer, 1, []),
        (FaultKind.ERROR_500, NoClearAnswer, 0, []),
        (FaultKind.DECLINED, Declined, 0, []),
        (FaultKind.SLOW, Accepted, 1, [5.0]),
    ],
)
def test_each_kind_does_and_says_its_own(
    payments: FaultyPayments,
    book: LedgerPayments,
    waited: list[float],
    kind: FaultKind,
    answer: type[PaymentAnswer],
    entries: int,
    pauses: list[float],
) -> None:
    payments.plan(kind, 1)
    assert isinstance(payments.refund(request(1)), answer)
    assert (len(book.book()), waited) == (entries, pauses)
    again = payments.refund(request(1))
    assert isinstance(again, Accepted)
    assert again.replayed is (entries == 1)


def test_faults_come_in_the_order_they_were_ordered_and_then_end(
    payments: FaultyPayments,
) -> None:
    payments.plan(FaultKind.DECLINED, 2)
    payments.plan(FaultKind.ERROR_500, 1)
    answers = [type(payments.refund(request(number))) for number in range(4)]
    assert answers == [Declined, Declined, NoClearAnswer, Accepted]


def test_looking_is_never_disturbed(payments: FaultyPayments) -> None:
    payments.plan(FaultKind.DECLINED, 1)
    assert payments.find(request(1)) is None
    assert payments.view("ORD-1001", "USD").captured == Money(16000, "USD")
    assert isinstance(payments.refund(request(1)), Declined)


def test_a_slow_refund_holds_up_no_other(book: LedgerPayments) -> None:
    def meanwhile(seconds: float) -> None:
        assert seconds == 0.25
        assert isinstance(slow.refund(request(2)), Accepted)

    slow = FaultyPayments(book, meanwhile, slow_s=0.25)
    slow.plan(FaultKind.SLOW, 1)
    assert isinstance(slow.refund(request(1)), Accepted)
    assert {entry.key for entry in book.book()} == {"rd-1", "rd-2"}


def test_every_ordered_fault_is_used_once_over_all_threads(payments: FaultyPayments) -> None:
    payments.plan(FaultKind.DECLINED, 5)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: payments.refund(request(number)), range(16)))
    assert sum(isinstance(answer, Declined) for answer in answers) == 5
