"""Every row of the transition table is a story: it is reached, fired, seen, told, and booked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from typing_extensions import override

from agent.domain.approvals import MOVES, Approval, Event, Status, move
from agent.domain.audit import AuditType
from agent.domain.heartbeats import REPLICA
from agent.ports import Declined, DeliveryKind, NotStarted
from agent.steps.decide import withdraw
from agent.steps.execute import carry_out, execute
from agent.steps.revoke import revoke
from agent.steps.sweep import sweep
from bot.sandbox.payments_faults import FaultKind
from storage.heartbeats import beat
from tests.story.test_execute import DyingPayments, Killed, ScriptedPayments, with_payments
from tests.story.ways import (
    ANA,
    MIA,
    about,
    approved,
    booked,
    chips,
    disputes,
    executed,
    executing,
    hears,
    long_unknown,
    parked,
    path,
    settles,
    staff,
    told,
    unknown,
    usd,
)
from tests.support.desk import Story

CARD, UPDATE, THREAD = DeliveryKind.CARD, DeliveryKind.CARD_UPDATE, DeliveryKind.THREAD
ALERT, REDRAW, NEWS = DeliveryKind.ALERT, DeliveryKind.ALERT_UPDATE, DeliveryKind.ALERT_LINE
_S, _E, _A = Status, Event, AuditType
CHAIR = 16000


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a move shows to everybody it concerns.

    `fact` is the event of the trail that carries the new status, through `channel`; `chip` and
    `says` are what the customer reads of it, None and "" where they read nothing; `outcome` is what
    the run is told; `slack` is what leaves for Slack; `book` is what the provider then has under
    the row's key. `rests_at` is where the row stands where it goes on by itself.
    """

    event: Event
    fact: AuditType
    channel: str
    chip: str | None = None
    outcome: str | None = None
    says: str = ""
    slack: tuple[DeliveryKind, ...] = ()
    book: int = 0
    rests_at: Status | None = None


@dataclass(frozen=True, kw_only=True)
class Start(Seen):
    """A row of the table at which an approval begins."""

    fire: Callable[[Story], object]

    @override
    def __str__(self) -> str:
        return f"{self.event}"


@dataclass(frozen=True, kw_only=True)
class Leg(Seen):
    """Any other row of the table; `fire` is the real step and nothing more."""

    source: Status
    how: str = ""
    reach: Callable[[Story], Approval]
    fire: Callable[[Story, Approval], object]

    @override
    def __str__(self) -> str:
        return f"{self.source} - {self.event} {self.how}".rstrip()


def asks(story: Story, amount: str) -> None:
    """Ask for a refund in a fresh conversation."""
    story.asks_refund(story.opens_chat("cus_clara"), amount)


def waits(story: Story) -> Approval:
    return parked(story, "120.00")


def lapses(story: Story, _row: Approval) -> None:
    story.clock.advance(minutes=30)
    sweep(story.desk)


def claims(story: Story, row: Approval) -> None:
    """Claim it, and die before the provider hears of it."""
    dying = DyingPayments(story.payments, wait=lambda _s: None)
    with pytest.raises(Killed):
        execute(with_payments(story, dying).desk, row.id)


def disputed(story: Story, row: Approval) -> None:
    disputes(story)
    execute(story.desk, row.id)


def answered(*faults: FaultKind) -> Callable[[Story, Approval], object]:
    """Return the claim's holder going on: the provider acts, or goes wrong as ordered."""

    def fire(story: Story, row: Approval) -> None:
        for fault in faults:
            story.payments.plan(fault, 1)
        carry_out(story.desk, row, in_turn=False)

    return fire


def turned_away(story: Story, row: Approval) -> None:
    """Let the provider say that it is too busy: provably nothing has started."""
    busy = ScriptedPayments(story.payments)
    busy.answer = NotStarted("429")
    carry_out(with_payments(story, busy).desk, row, in_turn=False)


def lease_lost(story: Story, _row: Approval) -> None:
    """Let the lease run out; the provider cannot be asked just now."""
    silent = ScriptedPayments(story.payments)
    silent.found = Declined("idempotency_error", "somebody used the key")
    story.clock.advance(seconds=90)
    sweep_alive(with_payments(story, silent))


def sweep_alive(story: Story) -> None:
    """Sweep as a replica that shows life."""
    with story.desk.store.transaction() as tx:
        beat(tx, story.desk.replica, REPLICA, story.clock.now())
    sweep(story.desk)


def looked_up(story: Story, _row: Approval) -> None:
    story.clock.advance(seconds=10)
    sweep_alive(story)


def found_declined(story: Story, row: Approval) -> None:
    """Let the provider's book say that the refund was declined."""
    knowing = ScriptedPayments(story.payments)
    knowing.found = Declined("card_closed", "the account is closed")
    looked_up(with_payments(story, knowing), row)


def found_returned(story: Story, row: Approval) -> None:
    """Let the provider's book show the refund as failed."""
    returns(story, row)
    looked_up(story, row)


def resent(story: Story, row: Approval) -> None:
    """Send it again, and die at the provider's door."""
    dying = DyingPayments(story.payments, wait=lambda _s: None)
    with pytest.raises(Killed):
        looked_up(with_payments(story, dying), row)


def returns(story: Story, row: Approval) -> None:
    """Let the money come back to the provider."""
    key = row.idempotency_key
    story.happens("UPDATE ledger_refunds SET status = 'failed' WHERE key = :k", k=key)


def comes_back(story: Story, row: Approval) -> None:
    returns(story, row)
    hears(story, row, kind="refund.failed")


STARTS = (
    Start(
        event=_E.PARK,
        fire=lambda story: asks(story, "160.00"),
        fact=_A.PROPOSAL_PARKED,
        channel="policy",
        chip="pending",
        slack=(CARD,),
    ),
    Start(
        event=_E.ALLOW,
        fire=lambda story: asks(story, "50.00"),
        fact=_A.PROPOSAL_ALLOWED,
        channel="policy",
        chip="done",
        slack=(DeliveryKind.REVIEW,),
        book=5000,
        rests_at=_S.EXECUTED,
    ),
)
LEGS = (
    Leg(
        source=_S.PENDING,
        event=_E.APPROVE,
        reach=parked,
        fire=lambda story, row: story.approves(ANA, row),
        fact=_A.APPROVAL_APPROVED,
        channel="api",
        chip="approved",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.PENDING,
        event=_E.REJECT,
        reach=parked,
        fire=lambda story, row: story.rejects(ANA, row),
        fact=_A.APPROVAL_REJECTED,
        channel="api",
        chip="declined",
        outcome="denied_by_human",
        says="declined the refund of 160.00 USD",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.PENDING,
        event=_E.EDIT,
        reach=waits,
        fire=lambda story, row: story.edits(ANA, row, usd(15000)),
        fact=_A.APPROVAL_EDITED,
        channel="api",
        chip="replaced",
        # The second links to the card of the request that took its place.
        slack=(UPDATE, UPDATE),
    ),
    Leg(
        source=_S.PENDING,
        event=_E.DEADLINE,
        reach=parked,
        fire=lapses,
        fact=_A.APPROVAL_EXPIRED,
        channel="timer",
        chip="expired",
        outcome="expired",
        says="No one decided on the refund of 160.00 USD",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.PENDING,
        event=_E.ESCALATE,
        reach=lambda story: parked(story, "2340.00", "ORD-1004"),
        fire=lapses,
        fact=_A.APPROVAL_ESCALATED,
        channel="timer",
        slack=(UPDATE, DeliveryKind.PING),
    ),
    Leg(
        source=_S.PENDING,
        event=_E.WITHDRAW,
        reach=parked,
        fire=lambda story, row: withdraw(story.desk, row.id, row.customer_id),
        fact=_A.APPROVAL_WITHDRAWN,
        channel="chat",
        chip="withdrawn",
        outcome="cancelled",
        says="was withdrawn; nothing was paid",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        how="by an operator",
        source=_S.PENDING,
        event=_E.WITHDRAW,
        reach=parked,
        fire=lambda story, row: revoke(story.desk, row.id, story.order(MIA, "bought twice")),
        fact=_A.APPROVAL_WITHDRAWN,
        channel="api",
        chip="withdrawn",
        outcome="cancelled",
        says="was withdrawn; nothing was paid. bought twice",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.APPROVED,
        event=_E.CLAIM,
        reach=approved,
        fire=claims,
        fact=_A.EXECUTION_CLAIMED,
        channel="timer",
    ),
    Leg(
        source=_S.APPROVED,
        event=_E.RECHECK_FAILS,
        reach=approved,
        fire=disputed,
        fact=_A.APPROVAL_STALE,
        channel="timer",
        chip="failed",
        outcome="stale",
        says="something changed in the meantime; nothing was paid",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.APPROVED,
        event=_E.REVOKE,
        reach=approved,
        fire=lambda story, row: revoke(story.desk, row.id, story.order(MIA)),
        fact=_A.APPROVAL_REVOKED,
        channel="api",
        chip="withdrawn",
        outcome="cancelled",
        says="was called off by our team; nothing was paid",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.EXECUTING,
        event=_E.PROVIDER_YES,
        reach=executing,
        fire=answered(),
        fact=_A.EXECUTION_ENDED,
        channel="timer",
        chip="done",
        outcome="executed",
        says="has been paid",
        slack=(UPDATE, THREAD),
        book=CHAIR,
    ),
    Leg(
        source=_S.EXECUTING,
        event=_E.PROVIDER_NO,
        reach=executing,
        fire=answered(FaultKind.DECLINED),
        fact=_A.EXECUTION_ENDED,
        channel="timer",
        chip="failed",
        outcome="failed",
        says="could not be completed and nothing was paid",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.EXECUTING,
        event=_E.SILENCE,
        reach=executing,
        fire=answered(FaultKind.TIMEOUT_AFTER),
        fact=_A.EXECUTION_UNKNOWN,
        channel="timer",
        chip="checking",
        slack=(UPDATE, THREAD),
        book=CHAIR,
    ),
    Leg(
        source=_S.EXECUTING,
        event=_E.SILENCE,
        how="(lease lost)",
        reach=executing,
        fire=lease_lost,
        fact=_A.EXECUTION_UNKNOWN,
        channel="timer",
        chip="checking",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.EXECUTING,
        event=_E.NOT_STARTED,
        reach=executing,
        fire=turned_away,
        fact=_A.EXECUTION_RETURNED,
        channel="timer",
        chip="approved",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.UNKNOWN,
        event=_E.FOUND_DONE,
        reach=lambda story: unknown(story, FaultKind.TIMEOUT_AFTER),
        fire=looked_up,
        fact=_A.EXECUTION_ENDED,
        channel="timer",
        chip="done",
        outcome="executed",
        says="has been paid",
        slack=(UPDATE, THREAD),
        book=CHAIR,
    ),
    Leg(
        source=_S.UNKNOWN,
        event=_E.FOUND_DONE,
        how="(webhook)",
        reach=lambda story: unknown(story, FaultKind.TIMEOUT_AFTER),
        fire=hears,
        fact=_A.EXECUTION_ENDED,
        channel="timer",
        chip="done",
        outcome="executed",
        says="has been paid",
        slack=(UPDATE, THREAD),
        book=CHAIR,
    ),
    Leg(
        source=_S.UNKNOWN,
        event=_E.FOUND_FAILED,
        reach=unknown,
        fire=found_declined,
        fact=_A.EXECUTION_ENDED,
        channel="timer",
        chip="failed",
        outcome="failed",
        says="could not be completed and nothing was paid",
        slack=(UPDATE, THREAD),
    ),
    Leg(
        source=_S.UNKNOWN,
        event=_E.FOUND_FAILED,
        how="(returned)",
        reach=lambda story: unknown(story, FaultKind.TIMEOUT_AFTER),
        fire=found_returned,
        fact=_A.EXECUTION_ENDED,
        channel="timer",
        chip="failed",
        outcome="came_back",
        says="did not arrive: your bank did not take it",
        slack=(UPDATE, THREAD),
        book=CHAIR,
    ),
    Leg(
        source=_S.UNKNOWN,
        event=_E.RESEND,
        reach=unknown,
        fire=resent,
        fact=_A.EXECUTION_CLAIMED,
        channel="timer",
    ),
    Leg(
        source=_S.UNKNOWN,
        event=_E.SETTLED_DONE,
        reach=long_unknown,
        fire=lambda story, row: settles(story, row, done=True),
        fact=_A.EXECUTION_SETTLED,
        channel="api",
        chip="done",
        outcome="executed",
        says="has been paid",
        slack=(UPDATE, THREAD, REDRAW, NEWS),
    ),
    Leg(
        source=_S.UNKNOWN,
        event=_E.SETTLED_FAILED,
        reach=long_unknown,
        fire=lambda story, row: settles(story, row, done=False),
        fact=_A.EXECUTION_SETTLED,
        channel="api",
        chip="failed",
        outcome="failed",
        says="could not be completed and nothing was paid",
        slack=(UPDATE, THREAD, REDRAW, NEWS),
    ),
    Leg(
        source=_S.EXECUTED,
        event=_E.LATE_FAILURE,
        reach=executed,
        fire=comes_back,
        fact=_A.EXECUTION_ENDED,
        channel="timer",
        chip="failed",
        outcome="came_back",
        says="did not arrive: your bank did not take it",
        slack=(UPDATE, THREAD, ALERT),
        book=CHAIR,
    ),
)


def test_the_stories_cover_the_table_and_nothing_else() -> None:
    starts = {(None, start.event) for start in STARTS}
    legs = {(leg.source, leg.event) for leg in LEGS}
    assert starts | legs == {(m.source, m.event) for m in MOVES}


@pytest.mark.parametrize("start", STARTS, ids=str)
def test_an_approval_begins(story: Story, start: Start) -> None:
    staff(story)
    start.fire(story)
    (row,) = (row for status in Status for row in story.all(status))
    check(story, row, start, move(None, start.event))
    assert path(story, row)[0] is move(None, start.event)


@pytest.mark.parametrize("leg", LEGS, ids=str)
def test_a_move_is_seen_by_everybody_it_concerns(story: Story, leg: Leg) -> None:
    staff(story)
    row = leg.reach(story)
    assert row.status is leg.source
    before = Before.of(story, row)
    leg.fire(story, row)
    story.tells()
    check(story, row, leg, move(leg.source, leg.event), before)


@dataclass(frozen=True)
class Before:
    """How much of each kind there was before the step."""

    chips: int = 0
    told: int = 0
    delivered: int = 0
    words: int = 0

    @classmethod
    def of(cls, story: Story, row: Approval) -> "Before":
        """Count."""
        return cls(
            len(chips(story, row)),
            len(told(story, row)),
            len(story.notifier.deliveries),
            len(story.agent_words(row.conversation_id)),
        )


def check(
    story: Story, row: Approval, seen: Seen, target: Status, before: Before = Before()
) -> None:
    """Compare what everybody sees now with what they should."""
    after = story.approval(row.id)
    assert after.status is (seen.rests_at or target)
    moved = [fact for fact in story.facts(row) if fact["type"] == seen.fact][-1]
    assert (moved["data"]["status"], moved["channel"]) == (target.value, seen.channel)
    assert path(story, row)[-1] is after.status

    new = [chip.data["status"] for chip in chips(story, row)[before.chips :]]
    assert new == ([] if seen.chip is None else [seen.chip])
    posted = about(story, row, before.delivered)
    assert tuple(delivery.kind for delivery in posted) == seen.slack
    shown = [d.approval.approval for d in posted if d.approval is not None]
    assert all((a.status, a.payload_hash) == (after.status, row.payload_hash) for a in shown)

    outcomes = [outcome_of(said) for said in told(story, row)[before.told :]]
    assert outcomes == ([] if seen.outcome is None else [(seen.outcome, target.value)])
    words = story.agent_words(row.conversation_id)[before.words :]
    assert len(words) == (1 if seen.outcome or not before.words else 0)
    assert all(seen.says in text for text in words)
    assert booked(story, row) == seen.book


def outcome_of(said: dict[str, Any]) -> tuple[str, str]:
    """Return what an outcome's system message says, and check that `ok` fits it."""
    assert said["event"] == "approval_outcome"
    assert said["ok"] is (said["outcome"] == "executed")
    return said.get("error", "executed"), said["outcome"]
