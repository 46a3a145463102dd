"""The payment provider in the desk's own database: a book that pays each key once."""

from collections.abc import Sequence

from typing_extensions import override

from agent.domain.money import Money
from agent.ports import (
    Accepted,
    Clock,
    Declined,
    Ids,
    NoClearAnswer,
    PaymentAnswer,
    Payments,
    PaymentView,
    ProviderRefund,
    ProviderStatus,
    RefundRequest,
)
from storage import ledger
from storage.transaction import Conflict, Store, Tx


class LedgerPayments(Payments):
    """Payments over the ledger tables; each call is one transaction of its own.

    Never call it inside a transaction of the desk: a provider is another system.
    """

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        """Keep the store; refunds get ids `rf_<ulid>` and the clock's time."""
        self._store = store
        self._clock = clock
        self._ids = ids

    @override
    def view(self, order_id: str, currency: str) -> PaymentView:
        """Return the order's payment; one in another currency counts as none."""
        found = self.views([order_id]).get(order_id)
        if found is None or found.captured.currency != currency:
            return PaymentView(Money(0, currency), (), disputed=False)
        return found

    def views(self, order_ids: Sequence[str]) -> dict[str, PaymentView]:
        """Return the payments that exist, by order."""
        with self._store.transaction(write=False) as tx:
            payments = ledger.payments(tx, order_ids)
            refunds = ledger.refunds(tx, order_ids)
        made: dict[str, list[ProviderRefund]] = {order_id: [] for order_id in payments}
        for refund in refunds:
            made[refund.order_id].append(refund)
        return {
            order_id: PaymentView(one.captured, tuple(made[order_id]), one.disputed)
            for order_id, one in payments.items()
        }

    def book(self) -> tuple[ProviderRefund, ...]:
        """Return every refund there is, the oldest first."""
        with self._store.transaction(write=False) as tx:
            return ledger.book(tx)

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        """Pay back once per key; what was declined left no trace and may be asked again."""
        try:
            with self._store.transaction() as tx:
                return self._refund(tx, request)
        except Conflict:
            # Somebody sent the same key for another order in this very moment, and was first.
            answer = self.find(request)
            return NoClearAnswer("conflict") if answer is None else answer

    @override
    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        """Return the refund of the key; None proves that no try of it has come through yet."""
        with self._store.transaction() as tx:
            # A try that is under way holds the payment: wait until it has ended either way.
            ledger.lock_payment(tx, request.order_id)
            return _replayed(tx, request)

    def _refund(self, tx: Tx, request: RefundRequest) -> PaymentAnswer:
        payment = ledger.lock_payment(tx, request.order_id)
        earlier = _replayed(tx, request)
        if earlier is not None:
            return earlier
        if payment is None:
            return Declined("unknown_order", f"order {request.order_id} was never paid")
        refused = _refusal(tx, payment, request)
        if refused is not None:
            return refused
        refund = ProviderRefund(
            id=self._ids.new("rf"),
            key=request.key,
            order_id=request.order_id,
            amount=request.amount,
            status=ProviderStatus.SUCCEEDED,
            at=self._clock.now(),
        )
        ledger.add_refunds(tx, refund)
        return Accepted(refund, replayed=False)


def _replayed(tx: Tx, request: RefundRequest) -> Accepted | NoClearAnswer | None:
    """Return what an earlier request under this key led to."""
    earlier = ledger.refund_by_key(tx, request.key)
    if earlier is None:
        return None
    if (earlier.order_id, earlier.amount) != (request.order_id, request.amount):
        return NoClearAnswer("idempotency_error: the key was used for another refund")
    return Accepted(earlier, replayed=True)


def _refusal(tx: Tx, payment: ledger.Payment, request: RefundRequest) -> Declined | None:
    """Return why a payment that is held cannot be refunded so."""
    amount, captured = request.amount, payment.captured
    if amount.currency != captured.currency:
        return Declined("currency_mismatch", f"the order was paid in {captured.currency}")
    if amount.minor <= 0:
        return Declined("invalid_amount", "a refund is more than zero")
    if payment.disputed:
        return Declined("charge_disputed", "the bank is settling a dispute about the payment")
    paid_back = ledger.paid_back(tx, [payment.order_id]).get(payment.order_id, 0)
    remaining = captured.minus(Money(paid_back, captured.currency))
    if amount.exceeds(remaining):
        return Declined("over_remaining", f"only {remaining} of the payment is left")
    return None
