"""The invariants that need the whole world: the provider's book, limits, deliveries, words."""

import json
from collections import Counter, defaultdict
from datetime import timedelta

from agent.domain.approvals import Approval, Status
from agent.ports import DeliveryKind, ProviderRefund, ProviderStatus
from agent.providers.ledger_payments import LedgerPayments
from agent.steps.breaker import breaker_status
from storage.audit_tables import audit
from storage.outside_tables import orders
from storage.tables import breaker_admissions, events, messages
from tests.properties.world import STAFF_NOTE, World
from tests.support.invariants import check_invariants
from tests.support.outside import Json

_LIMIT = 5000
_ORDERS = orders.select()
_DAY = timedelta(days=1)


def owners(world: World) -> dict[str, str]:
    """Return whose each order is."""
    with world.desk.store.transaction(write=False) as tx:
        rows = tx.all(_ORDERS)
    return {row["id"]: row["customer_id"] for row in rows}


def is_paid(world: World, row: Approval) -> bool:
    """Tell whether the provider's book shows the row's refund."""
    return any(entry.key == row.idempotency_key for entry in _book(world))


def check_now(world: World, rows: list[Approval]) -> None:
    """Check what holds at any moment."""
    book = _book(world)
    _the_book_is_ours(book, rows)
    _limits_hold(rows)
    _nobody_reaches_others(world, rows)
    _the_breaker_gets_ready(world)
    _one_ping_each(world)


def check_after_all(world: World) -> None:
    """Check everything that is read from the database as an auditor reads it."""
    check_invariants(world.url, [_as_json(entry) for entry in _book(world)])
    _admissions_hold(world)
    _no_word_where_it_must_not_be(world)
    _a_timeout_is_no_denial(world)
    _each_level_once(world)
    _no_claim_outlives_its_lease(world)


def _book(world: World) -> tuple[ProviderRefund, ...]:
    return LedgerPayments(world.desk.store, world.desk.clock, world.desk.ids).book()


def _as_json(entry: ProviderRefund) -> Json:
    return {
        "key": entry.key,
        "order_id": entry.order_id,
        "amount": {"minor": entry.amount.minor, "currency": entry.amount.currency},
        "status": entry.status.value,
    }


def _the_book_is_ours(book: tuple[ProviderRefund, ...], rows: list[Approval]) -> None:
    """I1, I3, I13: one entry a row, of the stored amount, and only for a row that was claimed."""
    by_key = {row.idempotency_key: row for row in rows}
    ours = [entry for entry in book if entry.key.startswith("rd-")]
    assert len({entry.key for entry in ours}) == len(ours), "I1"
    for entry in ours:
        row = by_key[entry.key]
        assert row.attempts > 0, "I13"
        assert (row.order_id, row.amount) == (entry.order_id, entry.amount), "I3"
        assert row.status in {
            Status.EXECUTING,
            Status.UNKNOWN,
            Status.EXECUTED,
            Status.FAILED,
        }, f"I2: {row.id} is {row.status} and was paid"
        if row.status is Status.FAILED:
            assert entry.status is ProviderStatus.FAILED, f"{row.id} failed and was paid"


def _limits_hold(rows: list[Approval]) -> None:
    """I7: what ran without a person fits the shipped limits, counted anew."""
    automatic = [
        row
        for row in rows
        if row.automatic and row.amount is not None and row.status is not Status.FAILED
    ]
    on_order: Counter[str] = Counter()
    by_customer: dict[str, list[Approval]] = defaultdict(list)
    for row in automatic:
        if row.amount is None or row.order_id is None or row.status is Status.STALE:
            continue
        assert row.amount.minor <= _LIMIT, f"I7: {row.id}"
        on_order[row.order_id] += row.amount.minor
        by_customer[row.customer_id].append(row)
    assert all(minor <= _LIMIT for minor in on_order.values()), "I7: an order"
    for theirs in by_customer.values():
        for row in theirs:
            since = row.created_at - _DAY
            window = [r for r in theirs if since < r.created_at <= row.created_at]
            assert sum(r.amount.minor for r in window if r.amount) <= _LIMIT, "I7: a customer"


def _nobody_reaches_others(world: World, rows: list[Approval]) -> None:
    """I22: a request is about an order of the customer who asked."""
    mine = owners(world)
    for row in rows:
        if row.order_id is not None:
            assert mine.get(row.order_id) == row.customer_id, f"I22: {row.id}"


def _the_breaker_gets_ready(world: World) -> None:
    """I9: when the cooldown is over, it is not open any more."""
    shown = breaker_status(world.desk)
    again = shown["opens_again_at"]
    if shown["state"] == "open":
        assert isinstance(again, str), "I9"
        assert again > world.desk.clock.now().isoformat().replace("+00:00", "Z"), "I9"


def _one_ping_each(world: World) -> None:
    """I18: nobody is told twice of the same unknown outcome, and no card is posted twice."""
    told_of = [d.body["subject"] for d in world.story.notifier.of(DeliveryKind.ALERT)]
    assert len(set(told_of)) == len(told_of), "I18: alerts"
    for kind in (DeliveryKind.CARD, DeliveryKind.REVIEW):
        told = Counter(
            d.approval.approval.id for d in world.story.notifier.of(kind) if d.approval is not None
        )
        assert [one for one, times in told.items() if times > 1] == [], f"I18: {kind}"
    levels = Counter(
        (d.approval.approval.id, d.body["level"])
        for d in world.story.notifier.of(DeliveryKind.PING)
        if d.approval is not None
    )
    assert [one for one, times in levels.items() if times > 1] == [], "I18: pings"


def _admissions_hold(world: World) -> None:
    """I8: never more than five admissions in a window of a generation, trials apart."""
    with world.desk.store.transaction(write=False) as tx:
        rows = tx.all(breaker_admissions.select())
    for row in rows:
        window = [
            other
            for other in rows
            if other["generation"] == row["generation"]
            and not other["trial"]
            and row["at"] - 60_000_000 < other["at"] <= row["at"]
        ]
        assert len(window) <= 5, "I8"


def _no_word_where_it_must_not_be(world: World) -> None:
    """I20: the note for staff is in no transcript and no log; a flag is in no customer's log."""
    with world.desk.store.transaction(write=False) as tx:
        told = [row["data"] for row in tx.all(events.select())]
        heard = [row["content"] for row in tx.all(messages.select())]
    assert not any(STAFF_NOTE in text for text in (*told, *heard)), "I20"
    flags = {row.id for row in world.rows() if row.tool == "flag_for_fraud"}
    assert not any(flag in text for text in told for flag in flags), "I20: a flag"


def _a_timeout_is_no_denial(world: World) -> None:
    """I19: what expired was never said to be rejected, and the other way round."""
    with world.desk.store.transaction(write=False) as tx:
        facts = [(row["approval_id"], row["type"]) for row in tx.all(audit.select())]
    expired = {approval for approval, kind in facts if kind == "approval.expired"}
    denied = {approval for approval, kind in facts if kind == "approval.rejected"}
    assert expired.isdisjoint(denied), "I19"


def _each_level_once(world: World) -> None:
    """I18: a request is brought up once a level, whatever becomes of it by edits."""
    rows = {row.id: row for row in world.rows()}
    with world.desk.store.transaction(write=False) as tx:
        facts = [json.loads(row["body"]) for row in tx.all(audit.select())]
    told: Counter[tuple[str, str]] = Counter()
    for fact in facts:
        if fact["type"] in {"approval.pinged", "approval.escalated"}:
            row = rows[fact["approval_id"]]
            while row.supersedes is not None and rows[row.supersedes].status is Status.SUPERSEDED:
                row = rows[row.supersedes]
            told[row.id, fact["data"]["level"]] += 1
    assert [one for one, times in told.items() if times > 1] == [], "I18: levels"


def _no_claim_outlives_its_lease(world: World) -> None:
    """I21: after the lease and one sweep nothing is executing any more."""
    world.payments.dies = None
    world.story.clock.advance(seconds=91)
    world.works("sweep")
    assert world.story.all(Status.EXECUTING) == (), "I21"
