"""Failures of the payment provider that a tester orders for the next refunds."""

import threading
from collections import deque
from collections.abc import Callable
from enum import StrEnum

from typing_extensions import override

from agent.ports import (
    Accepted,
    Declined,
    NoClearAnswer,
    PaymentAnswer,
    Payments,
    PaymentView,
    RefundRequest,
)

SLOW_S = 5.0


class FaultKind(StrEnum):
    """How a refund goes wrong."""

    TIMEOUT_BEFORE = "timeout_before"
    TIMEOUT_AFTER = "timeout_after"
    ERROR_500 = "error_500"
    DECLINED = "declined"
    SLOW = "slow"


class FaultyPayments(Payments):
    """Payments that fail on order, first ordered first used; only `refund` ever fails.

    `timeout_before` and `error_500` do nothing and give no clear answer, `timeout_after` pays and
    gives none, `declined` is a definite no, and `slow` waits `slow_s` seconds before it acts.
    `wait` takes seconds. What was ordered does not survive the process.
    """

    def __init__(
        self, inner: Payments, wait: Callable[[float], None], slow_s: float = SLOW_S
    ) -> None:
        """Pass everything on to `inner` until told otherwise."""
        self._inner = inner
        self._wait = wait
        self._slow_s = slow_s
        self._ordered: deque[FaultKind] = deque()
        self._lock = threading.Lock()

    def plan(self, kind: FaultKind, times: int) -> None:
        """Let the next `times` refunds go wrong, after those already ordered."""
        with self._lock:
            self._ordered.extend([kind] * times)

    @override
    def view(self, order_id: str, currency: str) -> PaymentView:
        return self._inner.view(order_id, currency)

    @override
    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        return self._inner.find(request)

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        """Pay back, or go wrong as ordered."""
        match self._next():
            case None:
                return self._inner.refund(request)
            case FaultKind.TIMEOUT_BEFORE:
                return NoClearAnswer("timeout: no answer from the provider")
            case FaultKind.TIMEOUT_AFTER:
                self._inner.refund(request)
                return NoClearAnswer("timeout: no answer from the provider")
            case FaultKind.ERROR_500:
                return NoClearAnswer("500: the provider had an internal error")
            case FaultKind.DECLINED:
                return Declined("declined", "the provider declined the refund")
            case FaultKind.SLOW:
                # Never while the lock is held: the other refunds go on meanwhile.
                self._wait(self._slow_s)
                return self._inner.refund(request)

    def _next(self) -> FaultKind | None:
        with self._lock:
            return self._ordered.popleft() if self._ordered else None
