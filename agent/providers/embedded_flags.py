"""The shop's fraud signals in the desk's own database, with what a hold triggers."""

from typing_extensions import override

from agent.domain.fraud import FlagAction
from agent.ports import Clock, FlagRecord, FlagRequest, FraudBook, Ids
from storage import fraud_flags, pauses
from storage.pauses import Pause
from storage.transaction import Conflict, Store, Tx


class EmbeddedFlags(FraudBook):
    """Fraud signals over the desk's own tables; each call is one transaction of its own."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        """Keep the store; flags get ids `flg_<ulid>` and the clock's time."""
        self._store = store
        self._clock = clock
        self._ids = ids

    @override
    def put(self, request: FlagRequest) -> FlagRecord:
        try:
            with self._store.transaction() as tx:
                return fraud_flags.by_key(tx, request.key) or self._enter(tx, request)
        except Conflict:
            # Somebody entered the same key in this very moment, and was first.
            with self._store.transaction(write=False) as tx:
                first = fraud_flags.by_key(tx, request.key)
            if first is None:
                raise
            return first

    @override
    def find(self, key: str) -> FlagRecord | None:
        with self._store.transaction(write=False) as tx:
            return fraud_flags.by_key(tx, key)

    def book(self) -> tuple[FlagRecord, ...]:
        """Return every flag, oldest first."""
        with self._store.transaction(write=False) as tx:
            return fraud_flags.book(tx)

    def _enter(self, tx: Tx, request: FlagRequest) -> FlagRecord:
        flag = FlagRecord(
            id=self._ids.new("flg"),
            key=request.key,
            customer_id=request.customer_id,
            order_id=request.order_id,
            score=request.score,
            action=request.action,
            signals=request.signals,
            at=self._clock.now(),
        )
        fraud_flags.add(tx, flag)
        if flag.action is FlagAction.HOLD:
            reason = f"a fraud flag holds the customer ({flag.id})"
            pauses.pause(tx, Pause(flag.customer_id, flag.at, reason, request.approval_id))
        return flag
