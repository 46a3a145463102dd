"""Whatever happened: the policy in force decides as it did, another as its gate would have."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from agent.domain.approvals import Status, Verdict
from agent.domain.audit import AuditType
from agent.domain.ids import ApprovalId, ConversationId, CustomerId
from agent.domain.money import Money
from agent.domain.payload import proposal_key
from agent.domain.policy import Policy
from agent.domain.policy_trial import BY_POLICY, Compared, Judgement
from agent.domain.risk import Park, Refuse
from agent.domain.roles import Channel, Identity, Role, Tier
from agent.steps.ask_again import ask_again
from agent.steps.breaker import reset_breaker
from agent.steps.policy_try import Trial, try_policy
from agent.steps.stop import lift, stop_all
from agent.tools.base import Caller, parse_arguments
from agent.tools.effects import order_of
from agent.tools.order_facts import Question
from agent.tools.registry import EFFECTS, TOOLS
from bot.sandbox.payments_faults import FaultKind
from storage import approvals, audit, breaker
from storage.transaction import Store
from tests.story.orders import owner_of
from tests.support.builders import policy
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock

ME = Identity("cli", "ana")
ORDERS = ("ORD-1001", "ORD-1013", "ORD-1005", "ORD-1015", "ORD-1008", "ORD-1004", "ORD-1012")
# Around every line that the policies of this file draw.
AMOUNTS = ("1.00", "20.00", "25.00", "25.01", "49.99", "50.00", "50.01", "61.00")
CONFIDENCES = ("0.5", "0.8999", "0.90", "0.95", "1", None)
JUMPS_S = (1, 1, 40, 100, 1900, 20_000, 90_000)
SCORES = ("0.3", "0.5001", "0.80", "0.8001")

STRICT = policy(
    refunds={
        "auto_limit": {"USD": "25.00"},
        "confidence_min": "0.95",
        "customer_max_refunds": 2,
        "customer_window_s": 30_000,
        "tiers": {"USD": [{"role": "refund_manager", "approvals": 2}]},
    },
    emails={"templates_run": False},
    fraud_flags={"auto_score_max": "0.5"},
    max_open_approvals=1,
)
LOOSE = policy(
    refunds={
        "auto_limit": {"USD": "60.00", "JPY": "3000"},
        "confidence_min": "0.5",
        "cumulative_window_s": 50,
        "earlier_no_s": 200,
    },
    max_open_approvals=3,
)
USUAL = policy(breaker={"max_refunds": 1000}, max_open_approvals=2)
PARKING = policy(
    breaker={"max_refunds": 2, "window_s": 100, "when_open": "park"}, max_open_approvals=2
)
REFUSING = policy(breaker={"max_refunds": 2, "window_s": 100}, max_open_approvals=2)


@dataclass
class Anything:
    """A story in which the dice decide, and what other gates say at each proposal.

    `said` holds, by the id under which a trial tells of it, the verdict of each other policy.
    """

    story: Story
    dice: Random
    staff: tuple[Identity, ...]
    others: tuple[Policy, ...] = ()
    said: dict[str, tuple[Judgement, ...]] = field(default_factory=dict)
    calls: int = 0

    def happens(self, times: int) -> None:
        """Let so many things happen, some time between them."""
        acts: tuple[Callable[[], None], ...] = (
            self.refund,
            self.refund,
            self.refund,
            self.email,
            self.flag,
            self.decide,
            self.edit,
            self.again,
            self.fault,
            self.switch,
        )
        for _ in range(times):
            self.dice.choice(acts)()
            self.story.clock.advance(seconds=self.dice.choice(JUMPS_S))
            self.story.sweeps()
            self.story.clock.advance(microseconds=1)

    def refund(self) -> None:
        order = self.dice.choice(ORDERS)
        yen = order == "ORD-1012"
        call = self.story.refund_call(
            str(self.dice.randint(1000, 4000)) if yen else self.dice.choice(AMOUNTS),
            order,
            self.call_id(),
            currency="JPY" if yen else "USD",
            confidence=self.dice.choice(CONFIDENCES),
            scope=self.dice.choice(("full", "partial", "partial", "unclear")),
        )
        self.propose(owner_of(self.story, order), call)

    def email(self) -> None:
        order = self.dice.choice(ORDERS)
        kinds: tuple[dict[str, object], ...] = (
            {"template": "photo_request", "order_id": order},
            {"template": "delay_apology", "order_id": order, "to": ["a@b.de"]},
            {"template": "delay_apology", "order_id": order, "cc": ["a@b.de"]},
            {"subject": f"No. {self.calls}", "body": "A word."},
            {"subject": f"No. {self.calls}", "body": "A word.", "to": ["a@xn--80ak6aa92e.com"]},
        )
        call = self.story.email_call(self.call_id(), **self.dice.choice(kinds))
        self.propose(owner_of(self.story, order), call)

    def flag(self) -> None:
        call = self.story.flag_call(self.dice.choice(SCORES), self.call_id())
        self.propose(owner_of(self.story, self.dice.choice(ORDERS)), call)

    def decide(self) -> None:
        waiting = self.story.all(Status.PENDING)
        if waiting:
            verdict = self.dice.choice((Verdict.APPROVE, Verdict.REJECT))
            chosen, who = self.dice.choice(waiting), self.dice.choice(self.staff)
            if verdict is Verdict.REJECT:
                self.story.rejects(who, chosen)
            else:
                self.story.approves(who, chosen)
            self.story.rests()

    def edit(self) -> None:
        waiting = [one for one in self.story.all(Status.PENDING) if one.amount is not None]
        if waiting:
            chosen = self.dice.choice(waiting)
            assert chosen.amount is not None
            amount = Money(self.dice.randint(1, 6000), chosen.amount.currency)
            self.story.edits(self.dice.choice(self.staff), chosen, amount)
            self.story.rests()

    def again(self) -> None:
        lapsed = self.story.all(Status.EXPIRED)
        if lapsed:
            who = self.story.order(self.dice.choice(self.staff))
            ask_again(self.story.desk, self.dice.choice(lapsed).id, who)
            self.story.rests()

    def fault(self) -> None:
        kind = self.dice.choice((FaultKind.DECLINED, FaultKind.TIMEOUT_AFTER, FaultKind.ERROR_500))
        self.story.payments.plan(kind, 1)

    def switch(self) -> None:
        mia = self.story.order(self.staff[-1])
        for turn in (stop_all, lift):
            self.dice.choice((turn, reset_breaker, lift))(self.story.desk, mia)

    def call_id(self) -> str:
        self.calls += 1
        return f"call_{self.calls}"

    def propose(self, customer: str, call: tuple[str, str, str]) -> None:
        """Ask the other gates first, under the very facts that the desk's will see."""
        chat = self.story.opens_chat(customer)
        said = [self.ask(other, chat, CustomerId(customer), call) for other in self.others]
        (result,) = self.story.proposes(chat, call)
        known = [judgement for judgement in said if judgement is not None]
        if len(known) == len(self.others) and (found := self.told_as(call[0], result)):
            self.said[found] = tuple(known)

    def ask(
        self, other: Policy, chat: ConversationId, customer: CustomerId, call: tuple[str, str, str]
    ) -> Judgement | None:
        """Return what the other policy's gate says; None where an identical request waits."""
        desk, effect = replace(self.story.desk, policy=other), EFFECTS[call[1]]
        bound = effect.bind(desk, Caller(customer, chat), parse_arguments(TOOLS[call[1]], call[2]))
        reading = effect.read(desk, bound.payload)
        key = proposal_key(customer_id=customer, tool=call[1], payload=bound.payload)
        with desk.store.transaction() as tx:
            if approvals.pending_twin(tx, key) is not None:
                return None
            question = Question(
                customer_id=customer,
                conversation_id=chat,
                proposal_key=key,
                besides=None,
                stopped=breaker.is_stopped(tx),
                tool=call[1],
                order_id=order_of(bound.payload),
            )
            now = self.story.clock.now()
            return effect.judge(tx, desk, bound, reading, question, now).verdict

    def told_as(self, call_id: str, result: dict[str, Any]) -> str | None:
        """Return the id under which a trial tells of a call, None when it is not judged again."""
        if result.get("error") in BY_POLICY:
            with self.story.desk.store.transaction(write=False) as tx:
                refused = [f for f in audit.walk(tx) if f.type == AuditType.PROPOSAL_REFUSED]
            return next(fact.chain for fact in refused if f'"{call_id}"' in fact.body)
        made = result.get("approval_id")
        # A call that joined another one has no row of its own.
        is_own = made is not None and self.story.approval(made).call_id == call_id
        return made if is_own else None

    def tries(self, tried: Policy) -> dict[str, Compared]:
        """Return the differences by id."""
        found = list[Compared]()
        tally = try_policy(self.story.desk, Trial(tried, 3650, ME, Channel.CLI), found.append)
        assert tally.unreadable == 0
        return {one.past.id: one for one in found}


def begin(story: Story, seed: int, *others: Policy) -> Anything:
    staff = (
        story.hire("ana", Role.REFUND_APPROVER),
        story.hire("bo", Role.REFUND_APPROVER),
        story.hire("mia", Role.REFUND_MANAGER),
    )
    story.model.otherwise = "I see."
    return Anything(story, Random(seed), staff, others)  # noqa: S311 - the same dice each time


@pytest.mark.parametrize(
    ("seed", "in_force"),
    [
        pytest.param(1, USUAL, id="no breaker"),
        pytest.param(2, PARKING, id="a breaker that lets wait"),
        pytest.param(3, REFUSING, id="a breaker that refuses"),
        pytest.param(4, STRICT, id="a strict policy"),
    ],
)
def test_the_policy_in_force_decides_all_as_it_did(
    store: Store, clock: HandClock, ids: CountingIds, seed: int, in_force: Policy
) -> None:
    anything = begin(tell_story(store, clock, ids, in_force), seed)
    anything.happens(times=40)
    assert len(anything.said) >= 12
    assert anything.tries(in_force) == {}
    assert anything.tries(LOOSE) != {}


@pytest.mark.parametrize("seed", [5, 6])
def test_another_policy_decides_as_its_gate_would_have_then(
    store: Store, clock: HandClock, ids: CountingIds, seed: int
) -> None:
    others = (STRICT, LOOSE)
    anything = begin(tell_story(store, clock, ids, USUAL), seed, *others)
    anything.happens(times=40)
    kinds = Counter[str]()
    for number, other in enumerate(others):
        found = anything.tries(other)
        for told, said in anything.said.items():
            if told in found:
                assert plain(found[told].now) == plain(said[number]), found[told]
                kinds[found[told].change] += 1
            else:
                assert verdict(anything, told) == (plain(said[number])[0], tier(said[number]))
    assert set(kinds) >= {"runs", "waits", "other_people"}, kinds


def plain(judgement: Judgement) -> tuple[str, ...]:
    match judgement:
        case Park(findings=findings, tier=needs):
            return ("wait", *(one.code for one in findings), str(needs))
        case Refuse(code=code):
            return ("refuse", code)
        case _:
            return ("run",)


def tier(judgement: Judgement) -> Tier | None:
    return judgement.tier if isinstance(judgement, Park) else None


def verdict(anything: Anything, told: str) -> tuple[str, Tier | None]:
    """Return what the desk's own gate had said."""
    if told.startswith("run_"):
        return ("refuse", None)
    row = anything.story.approval(ApprovalId(told))
    return ("run", None) if row.automatic else ("wait", row.tier)
