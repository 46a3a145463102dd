"""The embedded provider pays each key once, whoever asks and however often."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Barrier

import pytest
from typing_extensions import override

from agent.domain.ids import ApprovalId, Prefix
from agent.domain.money import Money
from agent.ports import (
    Accepted,
    Declined,
    NoClearAnswer,
    PaymentAnswer,
    PaymentView,
    ProviderRefund,
    ProviderStatus,
    RefundRequest,
)
from agent.providers.ledger_payments import LedgerPayments
from storage import ledger
from storage.transaction import Store
from tests.support.doubles import START, CountingIds, HandClock

CHAIR = RefundRequest("rd-1", ApprovalId("apr_1"), "ORD-1001", Money(4000, "USD"))
LAMP = replace(CHAIR, order_id="ORD-1002")


@pytest.fixture
def payments(store: Store, clock: HandClock, ids: CountingIds) -> LedgerPayments:
    with store.transaction() as tx:
        ledger.save_payments(
            tx,
            [
                ledger.Payment("ORD-1001", Money(16000, "USD"), disputed=False),
                ledger.Payment("ORD-1002", Money(4800, "USD"), disputed=False),
                ledger.Payment("ORD-1007", Money(21900, "USD"), disputed=True),
                ledger.Payment("ORD-1014", Money(0, "USD"), disputed=False),
            ],
        )
    return LedgerPayments(store, clock, ids)


def accepted(answer: PaymentAnswer | None) -> ProviderRefund:
    assert isinstance(answer, Accepted)
    return answer.refund


def test_a_refund_is_entered_in_the_book(payments: LedgerPayments) -> None:
    answer = payments.refund(CHAIR)
    assert isinstance(answer, Accepted)
    assert not answer.replayed
    assert answer.refund == ProviderRefund(
        id=answer.refund.id,
        key="rd-1",
        order_id="ORD-1001",
        amount=Money(4000, "USD"),
        status=ProviderStatus.SUCCEEDED,
        at=START,
    )
    assert answer.refund.id.startswith("rf_")
    assert payments.book() == (answer.refund,)
    assert payments.view("ORD-1001", "USD") == PaymentView(
        Money(16000, "USD"), (answer.refund,), disputed=False
    )


def test_the_same_request_again_is_the_first_refund(
    payments: LedgerPayments, clock: HandClock
) -> None:
    first = accepted(payments.refund(CHAIR))
    clock.advance(days=2)
    assert payments.refund(CHAIR) == Accepted(first, replayed=True)
    assert payments.find(CHAIR) == Accepted(first, replayed=True)
    assert payments.book() == (first,)


def test_a_replay_comes_before_every_other_check(store: Store, payments: LedgerPayments) -> None:
    everything = replace(CHAIR, amount=Money(16000, "USD"))
    first = accepted(payments.refund(everything))
    assert payments.refund(everything) == Accepted(first, replayed=True)
    with store.transaction() as tx:
        ledger.save_payments(tx, [ledger.Payment("ORD-1001", Money(0, "USD"), disputed=False)])
    assert payments.refund(everything) == Accepted(first, replayed=True)


@pytest.mark.parametrize(
    "other",
    [
        replace(CHAIR, amount=Money(4001, "USD")),
        replace(CHAIR, amount=Money(4000, "EUR")),
        LAMP,
        replace(CHAIR, order_id="ORD-9999"),
    ],
)
def test_a_key_of_another_refund_gets_no_clear_answer(
    payments: LedgerPayments, other: RefundRequest
) -> None:
    first = accepted(payments.refund(CHAIR))
    for answer in (payments.refund(other), payments.find(other)):
        assert isinstance(answer, NoClearAnswer)
        assert answer.problem.startswith("idempotency_error")
    assert payments.book() == (first,)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (replace(CHAIR, amount=Money(16001, "USD")), "over_remaining"),
        (replace(CHAIR, order_id="ORD-1014", amount=Money(1, "USD")), "over_remaining"),
        (replace(CHAIR, order_id="ORD-1007"), "charge_disputed"),
        (replace(CHAIR, order_id="ORD-9999"), "unknown_order"),
        (replace(CHAIR, amount=Money(4000, "EUR")), "currency_mismatch"),
        (replace(CHAIR, amount=Money(0, "USD")), "invalid_amount"),
        (replace(CHAIR, amount=Money(-1, "USD")), "invalid_amount"),
    ],
)
def test_what_cannot_be_paid_is_declined_and_leaves_no_trace(
    payments: LedgerPayments, request_: RefundRequest, code: str
) -> None:
    answer = payments.refund(request_)
    assert isinstance(answer, Declined)
    assert answer.code == code
    assert payments.find(request_) is None
    assert payments.book() == ()


def test_the_last_cent_can_be_paid_and_no_more(payments: LedgerPayments) -> None:
    accepted(payments.refund(CHAIR))
    accepted(payments.refund(replace(CHAIR, key="rd-2", amount=Money(12000, "USD"))))
    answer = payments.refund(replace(CHAIR, key="rd-3", amount=Money(1, "USD")))
    assert answer == Declined("over_remaining", "only 0.00 USD of the payment is left")


def test_a_failed_refund_gives_its_money_back(store: Store, payments: LedgerPayments) -> None:
    failed = ProviderRefund(
        "rf_0", "rd-0", "ORD-1001", Money(16000, "USD"), ProviderStatus.FAILED, START
    )
    with store.transaction() as tx:
        ledger.add_refunds(tx, failed)
    accepted(payments.refund(replace(CHAIR, amount=Money(16000, "USD"))))


@pytest.mark.parametrize(
    ("order_id", "currency"), [("ORD-9999", "USD"), ("ORD-1001", "EUR"), ("ORD-1014", "USD")]
)
def test_an_order_that_was_never_paid_so_has_nothing_captured(
    payments: LedgerPayments, order_id: str, currency: str
) -> None:
    assert payments.view(order_id, currency) == PaymentView(Money(0, currency), (), disputed=False)


def at_once(count: int, send: Callable[[int], PaymentAnswer]) -> list[PaymentAnswer]:
    """Return what `count` threads are answered that all start together."""
    start = Barrier(count)

    def go(number: int) -> PaymentAnswer:
        start.wait()
        return send(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(go, range(count)))


def test_one_key_from_eight_threads_pays_once(payments: LedgerPayments) -> None:
    answers = at_once(8, lambda _: payments.refund(CHAIR))
    (refund,) = payments.book()
    assert [accepted(answer) for answer in answers] == [refund] * 8
    assert sorted(isinstance(a, Accepted) and a.replayed for a in answers) == [False] + [True] * 7


def test_eight_keys_at_once_never_pay_more_than_was_captured(payments: LedgerPayments) -> None:
    answers = at_once(
        8, lambda n: payments.refund(replace(CHAIR, key=f"rd-{n}", amount=Money(3000, "USD")))
    )
    assert sum(isinstance(answer, Accepted) for answer in answers) == 5
    assert {a.code for a in answers if isinstance(a, Declined)} == {"over_remaining"}
    assert sum(refund.amount.minor for refund in payments.book()) == 15000


def test_one_key_for_two_orders_at_once_pays_one_of_them(payments: LedgerPayments) -> None:
    answers = at_once(2, lambda n: payments.refund((CHAIR, LAMP)[n]))
    (refund,) = payments.book()
    assert sorted(type(answer).__name__ for answer in answers) == ["Accepted", "NoClearAnswer"]
    assert refund in [answer.refund for answer in answers if isinstance(answer, Accepted)]


@dataclass
class OvertakingIds(CountingIds):
    """Ids that let somebody else go first: `overtake` runs when the first one is asked for."""

    overtake: Callable[[], object] | None = None

    @override
    def new(self, prefix: Prefix) -> str:
        overtake, self.overtake = self.overtake, None
        if overtake is not None:
            overtake()
        return super().new(prefix)


# SQLite has one writer at a time: nobody can go first there.
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_key_taken_between_the_check_and_the_entry_is_not_paid_twice(
    store: Store, payments: LedgerPayments, clock: HandClock
) -> None:
    ids = OvertakingIds(overtake=lambda: payments.refund(CHAIR))
    answer = LedgerPayments(store, clock, ids).refund(LAMP)
    assert isinstance(answer, NoClearAnswer)
    assert answer.problem.startswith("idempotency_error")
    assert [refund.order_id for refund in payments.book()] == ["ORD-1001"]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_lookup_waits_for_the_try_that_is_under_way(
    store: Store, payments: LedgerPayments
) -> None:
    with ThreadPoolExecutor(1) as pool:
        with store.transaction() as tx:
            ledger.lock_payment(tx, "ORD-1001")
            looked_up = pool.submit(payments.find, CHAIR)
            ledger.add_refunds(
                tx,
                ProviderRefund(
                    "rf_0", "rd-1", "ORD-1001", CHAIR.amount, ProviderStatus.SUCCEEDED, START
                ),
            )
        assert accepted(looked_up.result(timeout=30)).id == "rf_0"
