"""For any sequence of proposals, clicks, edits, expiries, faults and restarts, I1 to I22 hold."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from agent.domain.approvals import FINAL, Approval, EvidenceKind, Status, Verdict
from agent.domain.decision import Refused
from agent.domain.ids import CustomerId
from agent.domain.money import Money
from agent.domain.roles import Channel, Identity
from agent.steps.ask_again import ask_again
from agent.steps.breaker import breaker_status, reset_breaker
from agent.steps.decide import withdraw
from agent.steps.hear import ProviderEvent, hear
from agent.steps.people import link
from agent.steps.permission import Order
from agent.steps.review import answer_review, resume_automatic
from agent.steps.revoke import revoke
from agent.steps.settlement import Settlement, settle_unknown
from agent.steps.stop import lift, stop_all
from agent.steps.take import take_over
from agent.steps.verify import verify
from bot.sandbox.payments_faults import FaultKind
from storage import people
from tests.properties.book import check_after_all, check_now, is_paid, owners
from tests.properties.world import PEOPLE, World, new_world

ORDERS = (
    "ORD-1001",
    "ORD-1002",
    "ORD-1013",
    "ORD-1005",
    "ORD-1003",
    "ORD-1008",
    "ORD-1004",
    "ORD-1006",
)
CUSTOMERS = ("cus_clara", "cus_david", "cus_ben", "cus_priya")
# Around every line that the shipped policy draws.
AMOUNTS = ("0.01", "5.00", "20.00", "49.99", "50.00", "50.01", "160.00", "500.01", "2000.01")
JUMPS = (0.000001, 1, 29.999999, 30, 60, 91, 130, 301, 900, 1799.999999, 1800, 14400, 86400)

_people = st.sampled_from(sorted(PEOPLE))
_words = st.sampled_from((Verdict.APPROVE, Verdict.APPROVE, Verdict.REJECT))
_orders = st.sampled_from(ORDERS)
_pick = st.integers(0, 1_000_000)
_channels = st.sampled_from((Channel.API, Channel.CLI, Channel.SLACK))


class DeskMachine(RuleBasedStateMachine):
    """One desk; every rule is something that a person, a provider or time may do to it."""

    template: ClassVar[Path]
    reached: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        """Start a new world."""
        super().__init__()
        self.world: World = new_world(self.template)
        self.events = 0
        self.was: dict[str, Status] = {}
        self.levels: dict[str, int] = {}
        self.extended = set[str]()

    @override
    def teardown(self) -> None:
        """Look at everything once more, from outside, and forget it."""
        try:
            check_after_all(self.world)
            assert verify(self.world.desk).problems == ()
        finally:
            self.world.close()

    # --- what customers and the model do

    @rule(order=_orders, amount=st.sampled_from(AMOUNTS), sure=st.sampled_from(("0.95", "0.5")))
    def asks_for_money(self, order: str, amount: str, sure: str) -> None:
        """Propose a refund of one's own order."""
        story = self.world.story
        call = story.refund_call(amount, order, call_id=self._call(), confidence=sure)
        self.world.asks(owners(self.world)[order], call)

    @rule(order=_orders, minor=st.integers(5001, 16000))
    def asks_for_more_than_the_limit(self, order: str, minor: int) -> None:
        """Propose what people decide."""
        amount = Money(minor, "USD").plain()
        call = self.world.story.refund_call(amount, order, call_id=self._call())
        self.world.asks(owners(self.world)[order], call)

    @rule(minor=st.integers(200_001, 234_000), voters=st.lists(_people, min_size=1, max_size=3))
    def asks_for_what_two_decide(self, minor: int, voters: list[str]) -> None:
        """Propose what takes two people, and let some people approve it."""
        amount = Money(minor, "USD").plain()
        call = self.world.story.refund_call(amount, "ORD-1004", call_id=self._call())
        self.world.asks("cus_priya", call)
        for voter in voters:
            if row := self._pick(-1, Status.PENDING):
                self.world.decides(voter, row, Verdict.APPROVE, glass=False)

    @rule(minor=st.integers(200_001, 234_000), who=_people)
    def looks_into_it_and_lets_it_lapse(self, minor: int, who: str) -> None:
        """Propose what takes two people, let somebody take it over, and let its time run out."""
        amount = Money(minor, "USD").plain()
        call = self.world.story.refund_call(amount, "ORD-1004", call_id=self._call())
        self.world.asks("cus_priya", call)
        if row := self._pick(-1, Status.PENDING):
            self._count("taken", take_over(self.world.desk, row.id, self._order(who)))
            self.world.story.clock.advance(seconds=1800)
            self.world.works("sweep")

    @rule(minors=st.lists(st.integers(1, 200), min_size=6, max_size=8, unique=True))
    def asks_too_often(self, minors: list[int]) -> None:
        """Propose many small refunds in a moment."""
        for number, minor in enumerate(minors):
            order = ORDERS[number % len(ORDERS)]
            amount = Money(minor, "USD").plain()
            call = self.world.story.refund_call(amount, order, call_id=self._call())
            self.world.asks(owners(self.world)[order], call)

    @rule(order=_orders, customer=st.sampled_from(CUSTOMERS))
    def asks_for_somebody_elses_money(self, order: str, customer: str) -> None:
        """Propose a refund of an order that may be another customer's."""
        call = self.world.story.refund_call("10.00", order, call_id=self._call())
        self.world.asks(customer, call)

    @rule(customer=st.sampled_from(CUSTOMERS), free=st.booleans())
    def asks_for_mail(self, customer: str, free: bool) -> None:
        """Propose an e-mail, a template or a text of the agent's own."""
        order = next(o for o, owner in owners(self.world).items() if owner == customer)
        text = '"subject": "Hello", "body": "Free words"' if free else '"template": "photo_request"'
        arguments = f'{{"order_id": "{order}", {text}, "reason": "asked", "confidence": "0.95"}}'
        self.world.asks(customer, (self._call(), "send_email", arguments))

    @rule(customer=st.sampled_from(CUSTOMERS), score=st.sampled_from(("0.10", "0.80", "0.8001")))
    def flags(self, customer: str, score: str) -> None:
        """Propose a fraud flag."""
        arguments = (
            f'{{"score": "{score}", "signals": ["three cards"], "reason": "odd", '
            '"confidence": "0.95"}'
        )
        self.world.asks(customer, (self._call(), "flag_for_fraud", arguments))

    @rule(pick=_pick)
    def withdraws(self, pick: int) -> None:
        """Take back a request, waiting or not."""
        if row := self._pick(pick, Status.PENDING):
            withdraw(self.world.desk, row.id, row.customer_id)

    # --- what people do

    @rule(who=_people, pick=_pick, word=_words, glass=st.booleans())
    def decides(self, who: str, pick: int, word: Verdict, glass: bool) -> None:
        """Decide about a row that waits, rightly or not."""
        if row := self._pick(pick, Status.PENDING):
            self.world.decides(who, row, word, glass=glass and word is Verdict.APPROVE)

    @rule(who=st.sampled_from(("mia", "max", "ana")), pick=_pick)
    def approves_as_one_should(self, who: str, pick: int) -> None:
        """Approve what waits."""
        if row := self._pick(pick, Status.PENDING):
            self.world.decides(who, row, Verdict.APPROVE, glass=False)

    @rule(pick=_pick, late=st.sampled_from((-1, 0, 1)), word=_words)
    def decides_at_the_deadline(self, pick: int, late: int, word: Verdict) -> None:
        """Decide one microsecond before the deadline, exactly then, or one after."""
        row, clock = self._pick(pick, Status.PENDING), self.world.story.clock
        if row is None:
            return
        moment = row.expires_at + timedelta(microseconds=late)
        if moment > clock.now():
            clock.at = moment
        self.world.decides("mia", row, word, glass=False)

    @rule(more=st.integers(5001, 12000))
    def approves_an_own_request(self, more: int) -> None:
        """Let Ben, who shops here as well, decide about what he asked for himself."""
        call = self.world.story.refund_call(
            Money(more, "USD").plain(), "ORD-1008", call_id=self._call()
        )
        self.world.asks("cus_ben", call)
        row = self._pick(-1, Status.PENDING)
        if row is not None:
            self.world.decides("ben", row, Verdict.APPROVE, glass=False)

    @rule(who=st.sampled_from(("mia", "max", "ana")), pick=_pick)
    def rejects_as_one_should(self, who: str, pick: int) -> None:
        """Reject what waits."""
        if row := self._pick(pick, Status.PENDING):
            self.world.decides(who, row, Verdict.REJECT, glass=False)

    @rule(wait=st.sampled_from((1799.999999, 1800, 14400, 86400)))
    def nobody_decides(self, wait: float) -> None:
        """Let a deadline come, and the sweep after it."""
        self.world.story.clock.advance(seconds=wait)
        self.world.works("sweep")

    @rule(who=_people, pick=_pick, share=st.sampled_from((2, 5)))
    def looks_into_it(self, who: str, pick: int, share: int) -> None:
        """Let a level come, and somebody say that they look into what waits."""
        row, clock = self._pick(pick, Status.PENDING), self.world.story.clock
        if row is None:
            return
        left = (row.expires_at - row.created_at) / share
        clock.at = max(clock.at, row.expires_at - left)
        self.world.works("sweep")
        self._count("taken", take_over(self.world.desk, row.id, self._order(who)))

    @rule(who=_people, pick=_pick, word=_words)
    def decides_too_late(self, who: str, pick: int, word: Verdict) -> None:
        """Decide about any row at all."""
        rows = self.world.rows()
        if rows:
            self.world.decides(who, rows[pick % len(rows)], word, glass=False)

    @rule(who=_people, pick=_pick, minor=st.sampled_from((1, 500, 5000, 15999, 16001, 250000)))
    def edits_the_amount(self, who: str, pick: int, minor: int) -> None:
        """Edit what waits."""
        if row := self._pick(pick, Status.PENDING):
            self.world.edits(who, row, Money(minor, "USD"), None)

    @rule(who=_people, pick=_pick, order=_orders)
    def edits_the_order(self, who: str, pick: int, order: str) -> None:
        """Edit which order it is about."""
        if row := self._pick(pick, Status.PENDING):
            self.world.edits(who, row, None, order)

    @rule(who=st.sampled_from(("mia", "max", "ana", "ben")), pick=_pick, more=st.booleans())
    def edits_and_approves_alone(self, who: str, pick: int, more: bool) -> None:
        """Try to get one's own edit through, a higher or a lower one, step by step."""
        row = self._pick(pick, Status.PENDING)
        if row is None or row.amount is None:
            return
        for minor in (row.amount.minor + 100 if more else row.amount.minor - 1, row.amount.minor):
            if minor > 0 and row is not None:
                self.world.edits(who, row, Money(minor, "USD"), None)
                row = self._pick(-1, Status.PENDING)
        if row is not None:
            self.world.decides(who, row, Verdict.APPROVE, glass=False)

    @rule(who=_people, pick=_pick)
    def decides_on_another_hash(self, who: str, pick: int) -> None:
        """Decide on something else than what is stored."""
        if row := self._pick(pick, Status.PENDING):
            other = replace(row, payload_hash="0" * 64)
            self.world.decides(who, other, Verdict.APPROVE, glass=False)

    @rule(who=_people, pick=_pick, channel=_channels)
    def revokes(self, who: str, pick: int, channel: Channel) -> None:
        """Take an approval back."""
        if row := self._pick(pick, Status.APPROVED):
            self._count("revoked", revoke(self.world.desk, row.id, self._order(who, channel)))

    @rule(who=_people, pick=_pick, status=st.sampled_from((Status.STALE, Status.EXPIRED)))
    def asks_again(self, who: str, pick: int, status: Status) -> None:
        """Put what lapsed before people once more."""
        if row := self._pick(pick, status):
            self._count("asked again", ask_again(self.world.desk, row.id, self._order(who)))

    @rule(order=_orders, minor=st.integers(5001, 9000))
    def asks_again_what_nobody_decided(self, order: str, minor: int) -> None:
        """Let a request expire, and a manager put it before people once more."""
        self.asks_for_more_than_the_limit(order, minor)
        row = self._pick(-1, Status.PENDING)
        if row is None:
            return
        self.world.story.clock.at = max(self.world.story.clock.at, row.expires_at)
        self.world.works("sweep")
        self._count("asked again", ask_again(self.world.desk, row.id, self._order("max")))

    @rule(order=_orders, minor=st.integers(5001, 9000))
    def takes_an_approval_back(self, order: str, minor: int) -> None:
        """Approve, and revoke before anything ran."""
        self.asks_for_more_than_the_limit(order, minor)
        if row := self._pick(-1, Status.PENDING):
            self.world.decides("mia", row, Verdict.APPROVE, glass=False)
            self._count("revoked", revoke(self.world.desk, row.id, self._order("max")))

    @rule(pick=_pick)
    def breaks_the_glass(self, pick: int) -> None:
        """Let somebody on call approve alone."""
        if row := self._pick(pick, Status.PENDING):
            self._count("glass", self.world.decides("olu", row, Verdict.APPROVE, glass=True))

    @rule(order=_orders, minor=st.integers(1, 900))
    def settles_what_stayed_unknown_for_a_day(self, order: str, minor: int) -> None:
        """Let the provider be away for a day, and a manager say what became of it."""
        world, clock = self.world, self.world.story.clock
        world.payments.is_down = True
        amount = Money(minor, "USD").plain()
        call = world.story.refund_call(amount, order, call_id=self._call())
        world.asks(owners(world)[order], call)
        clock.advance(hours=24)
        world.works("sweep")
        world.payments.is_down = False
        for _ in range(3):
            clock.advance(minutes=11)
            world.works("sweep")
        if row := self._pick(-1, Status.UNKNOWN):
            settlement = Settlement(is_paid(world, row), EvidenceKind.PROVIDER_RECORD, "re_123")
            answer = settle_unknown(world.desk, row.id, settlement, self._order("mia"))
            self._count("settled", answer)

    @rule(who=st.sampled_from(("sam", "olu")), other=st.sampled_from(("ana", "max")))
    def turns_out_to_be_one_person(self, who: str, other: str) -> None:
        """Let an operator note that two accounts are one person's."""
        operator = Identity("cli", "operator")
        with self.world.desk.store.transaction(write=False) as tx:
            keeper = people.find(tx, self.world.staff[other])
        if keeper is not None and self.events % 7 == 0:
            link(self.world.desk, keeper.id, self.world.staff[who], operator)
            self.reached["linked"] += 1

    @rule(who=_people, pick=_pick, done=st.booleans(), kind=st.sampled_from(EvidenceKind))
    def settles(self, who: str, pick: int, done: bool, kind: EvidenceKind) -> None:
        """Say what became of an unknown outcome; a person says only what is so."""
        row = self._pick(pick, Status.UNKNOWN)
        if row is None:
            return
        if row.amount is not None:
            done = is_paid(self.world, row)
        settlement = Settlement(done, kind, "re_123")
        answer = settle_unknown(self.world.desk, row.id, settlement, self._order(who))
        self._count("settled", answer)

    @rule(who=_people)
    def stops(self, who: str) -> None:
        """Stop everything."""
        stop_all(self.world.desk, self._order(who))

    @rule(who=st.sampled_from(("mia", "max", "olu")))
    def lifts(self, who: str) -> None:
        """Let it go on."""
        lift(self.world.desk, self._order(who))

    @rule(who=_people)
    def resets(self, who: str) -> None:
        """Reset the breaker."""
        reset_breaker(self.world.desk, self._order(who))

    @rule(who=_people, pick=_pick, right=st.booleans())
    def reviews(self, who: str, pick: int, right: bool) -> None:
        """Look at what ran by itself."""
        if row := self._pick(pick, Status.EXECUTED):
            answer_review(self.world.desk, row.id, self._order(who), right=right)

    @rule(customer=st.sampled_from(CUSTOMERS))
    def resumes_a_customer(self, customer: str) -> None:
        """Let things run without a person again."""
        resume_automatic(self.world.desk, CustomerId(customer), self._order("mia"))

    # --- what the world does

    @rule(seconds=st.sampled_from(JUMPS))
    def time_passes(self, seconds: float) -> None:
        """Let time pass."""
        self.world.story.clock.advance(seconds=seconds)

    @rule(kind=st.sampled_from(("turn", "execute", "deliver", "sweep")))
    def works(self, kind: str) -> None:
        """Let one worker do one thing."""
        self.world.works(kind)

    @rule()
    def works_for_a_while(self) -> None:
        """Let every worker do a few things."""
        for kind in ("execute", "turn", "turn", "deliver", "deliver", "sweep"):
            self.world.works(kind)

    @rule(kind=st.sampled_from(FaultKind), times=st.integers(1, 2))
    def provider_fails(self, kind: FaultKind, times: int) -> None:
        """Let the provider's next refunds go wrong."""
        self.world.payments.plan(kind, times)

    @rule(
        kind=st.sampled_from((*FaultKind, "before", "after")),
        order=_orders,
        minor=st.integers(1, 500),
    )
    def pays_while_things_go_wrong(self, kind: str, order: str, minor: int) -> None:
        """Propose a small refund, and let provider or process fail at it."""
        if kind in {"before", "after"}:
            self.world.payments.dies = kind
        else:
            self.world.payments.plan(FaultKind(kind), 1)
        amount = Money(minor, "USD").plain()
        call = self.world.story.refund_call(amount, order, call_id=self._call())
        self.world.asks(owners(self.world)[order], call)

    @rule(how=st.sampled_from(("before", "after")))
    def dies_at_the_next_refund(self, how: str) -> None:
        """Let the process die at the provider's next call."""
        self.world.payments.dies = how

    @rule()
    def restarts(self) -> None:
        """Let the process end and another one begin."""
        self.world.restarts_desk()

    @rule(pick=_pick)
    @precondition(lambda self: bool(self._all(Status.EXECUTED)))
    def bank_returns_the_money(self, pick: int) -> None:
        """Let a refund that was made come back, and the provider say so twice."""
        row = self._pick(pick, Status.EXECUTED)
        if row is None or row.amount is None or "settled_by" in (row.result or {}):
            return
        self.world.bank_returns(row)
        self.events += 1
        for _ in range(2):
            hear(self.world.desk, ProviderEvent(f"evt_{self.events}", "refund.failed", row.id))

    @rule(pick=_pick, changed=st.sampled_from(("too late", "disputed")))
    def the_world_changes_after_the_approval(self, pick: int, changed: str) -> None:
        """Let what was approved meet another world at its claim."""
        row = self._pick(pick, Status.PENDING)
        if row is None:
            return
        self.world.decides("mia", row, Verdict.APPROVE, glass=False)
        if changed == "too late":
            self.world.story.clock.advance(seconds=row.use_within_s)
        elif row.order_id is not None:
            self.world.disputes(row.order_id)
        self.world.works("execute")

    @rule(pick=_pick)
    def provider_speaks(self, pick: int) -> None:
        """Let the provider send an event about any row."""
        rows = self.world.rows()
        if rows:
            self.events += 1
            row = rows[pick % len(rows)]
            event = ProviderEvent(f"evt_{self.events}", "refund.updated", row.id)
            self.world.survives(lambda: hear(self.world.desk, event))

    # --- what holds after each of these

    @invariant()
    def holds(self) -> None:
        """Check what can be checked at any moment, and that what ended stays as it ended."""
        rows = self.world.rows()
        for row in rows:
            before = self.was.get(row.id)
            if before in FINAL or before is Status.FAILED:
                assert row.status is before, f"I4: {row.id} {before} -> {row.status}"
            if before is not row.status:
                self.reached[row.status.value] += 1
            self.was[row.id] = row.status
            self.reached["brought up"] += row.pinged > self.levels.get(row.id, 0)
            self.reached["escalated"] += row.escalations > 0 and row.id not in self.extended
            self.levels[row.id] = row.pinged
            self.extended |= {row.id} if row.escalations else set()
        assert len(rows) >= len(self.was), "a row is gone"
        check_now(self.world, rows)
        self.reached[f"breaker {breaker_status(self.world.desk)['state']}"] += 1

    def _call(self) -> str:
        self.events += 1
        return f"call_{self.events}"

    def _count(self, what: str, answer: object) -> None:
        """Count what a person's word achieved."""
        if not isinstance(answer, Refused):
            self.reached[what] += 1

    def _order(self, who: str, channel: Channel = Channel.API) -> Order:
        return Order(self.world.staff[who], channel, "a reason that fits")

    def _all(self, status: Status) -> list[Approval]:
        return list(self.world.story.all(status))

    def _pick(self, number: int, status: Status) -> Approval | None:
        rows = self._all(status)
        return rows[number % len(rows)] if rows else None


# How often each state is reached at least, or the machine has not shown much. Far below what is
# usual: which way the machine goes depends on the modules that other tests have loaded before,
# as Hypothesis takes numbers from them.
FLOOR = {
    "pending": 40,
    "approved": 15,
    "executing": 2,
    "executed": 40,
    "failed": 5,
    "unknown": 4,
    "stale": 3,
    "rejected": 3,
    "expired": 5,
    "superseded": 1,
    "cancelled": 4,
    "asked again": 3,
    "revoked": 3,
    "glass": 3,
    "settled": 1,
    "linked": 1,
    "brought up": 20,
    "escalated": 1,
    "taken": 5,
    "breaker closed": 100,
    "breaker open": 5,
    "breaker half_open": 2,
}


@pytest.fixture
def machine(sqlite_template: Path) -> type[DeskMachine]:
    """Return the machine with its database to copy."""
    DeskMachine.template = sqlite_template
    DeskMachine.reached.clear()
    return DeskMachine


def test_whatever_happens_the_invariants_hold(machine: type[DeskMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=100,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
    reached = machine.reached
    missed = {state: reached[state] for state, least in FLOOR.items() if reached[state] < least}
    assert missed == {}, dict(reached)
