"""Another policy is tried on the past: what it would have decided differently, and nothing else."""

import json

import pytest

from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.ids import CustomerId, RunId
from agent.domain.money import Money
from agent.domain.payload import Payload
from agent.domain.policy import Policy
from agent.domain.policy_trial import Change, Compared, Judgement, Tally
from agent.domain.roles import Channel, Identity, Role
from agent.steps import policy_try
from agent.steps.ask_again import ask_again
from agent.steps.policy_try import Trial, try_policy
from agent.steps.stop import lift, stop_all
from bot.sandbox.payments_faults import FaultKind
from storage import audit, pauses
from storage.pauses import Pause
from storage.transaction import Store
from tests.story.orders import owner_of
from tests.support.builders import policy
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock

ME = Identity("cli", "ana")
CLARAS, CLARAS_OTHER, DAVIDS, BENS, PRIYAS = ORDERS = (
    "ORD-1001",
    "ORD-1013",
    "ORD-1005",
    "ORD-1008",
    "ORD-1004",
)


def tried(story: Story, other: Policy, days: int = 30) -> tuple[list[Compared], Tally]:
    found = list[Compared]()
    return found, try_policy(story.desk, Trial(other, days, ME, Channel.CLI), found.append)


def words(one: Compared) -> str:
    return f"{kind(one.past.recorded)} -> {kind(one.now)}"


def kind(judgement: Judgement) -> str:
    code = getattr(judgement, "code", "")
    reasons = [finding.code.value for finding in getattr(judgement, "findings", ())]
    return " ".join([type(judgement).__name__, *([code] if code else reasons)])


def ask(story: Story, amount: str, order: str = CLARAS, **more: str) -> None:
    story.asks_refund(story.opens_chat(owner_of(story, order)), amount, order, **more)
    story.clock.advance(seconds=1)


def of_refunds(**changes: object) -> Policy:
    return policy(refunds=changes)


# --- what would have been different ---------------------------------------------------------------


def test_a_higher_limit_lets_run_what_waited_and_a_lower_one_holds_what_ran(story: Story) -> None:
    ask(story, "60.00")
    ask(story, "50.00", DAVIDS)
    ask(story, "70.00", BENS)
    (one,), tally = tried(story, of_refunds(auto_limit={"USD": "60.00"}))
    assert one.past.id == story.all(Status.PENDING)[0].id
    assert words(one) == "Park amount_over_limit -> RunNow"
    assert tally.sums(Change.RUNS) == (Money(6000, "USD"),)
    assert (tally.judged, tally.counts[Change.NONE], tally.unreadable) == (3, 2, 0)
    (one,), tally = tried(story, of_refunds(auto_limit={"USD": "49.99"}))
    assert words(one) == "RunNow -> Park amount_over_limit"
    assert tally.sums(Change.WAITS) == (Money(5000, "USD"),)


@pytest.mark.parametrize(
    ("changes", "ask_for", "told"),
    [
        ({"confidence_min": "0.96"}, ("5.00", {}), ["RunNow -> Park low_confidence"]),
        (
            {"confidence_min": "0.5"},
            ("5.00", {"confidence": "0.5"}),
            ["Park low_confidence -> RunNow"],
        ),
        ({"auto_limit": {}}, ("5.00", {}), ["RunNow -> Park no_limit_for_currency"]),
        ({"confidence_min": "0.1"}, ("5.00", {"scope": "unclear"}), []),
        (
            {"auto_limit": {"USD": "100"}, "confidence_min": "0.96"},
            ("60.00", {}),
            [],
        ),
    ],
)
def test_each_number_of_a_refund_counts(
    story: Story,
    changes: dict[str, object],
    ask_for: tuple[str, dict[str, str]],
    told: list[str],
) -> None:
    amount, more = ask_for
    ask(story, amount, **more)
    found, _ = tried(story, of_refunds(**changes))
    assert [words(one) for one in found] == told


def test_sums_are_counted_as_of_then_in_the_windows_of_the_tried_policy(story: Story) -> None:
    ask(story, "30.00")
    story.clock.advance(hours=2)
    # Of another order of the customer, only the customer's sum counts.
    ask(story, "30.00", CLARAS_OTHER)
    assert story.only(Status.PENDING).findings[0].code == "cumulative_over_limit"
    ask(story, "20.00", CLARAS_OTHER)
    (one,), _ = tried(story, of_refunds(cumulative_window_s=3600))
    assert words(one) == "Park cumulative_over_limit -> RunNow"
    (one,), _ = tried(story, of_refunds(customer_max_refunds=1))
    assert words(one) == "RunNow -> Park cumulative_over_limit"
    assert one.past.amount == Money(2000, "USD")


def test_an_earlier_no_counts_from_when_it_was_said(story: Story) -> None:
    story.model.otherwise = "I see."
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ask(story, "60.00")
    ask(story, "5.00")
    story.rejects(ana, story.only(Status.PENDING))
    story.rests()
    story.clock.advance(seconds=10)
    ask(story, "6.00")
    (one,), _ = tried(story, of_refunds(earlier_no_s=5))
    assert words(one) == "Park earlier_no -> RunNow"
    assert one.past.amount == Money(600, "USD")


def test_what_failed_since_counted_until_it_failed(story: Story) -> None:
    story.model.otherwise = "I see."
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    ask(story, "30.00")
    ask(story, "31.00", CLARAS_OTHER)
    assert story.only(Status.PENDING).findings[0].code == "cumulative_over_limit"
    story.payments.plan(FaultKind.DECLINED, 1)
    story.clock.advance(seconds=100)
    story.sweeps()
    assert story.only(Status.FAILED).automatic
    story.clock.advance(seconds=1)
    ask(story, "32.00", CLARAS_OTHER)
    assert tried(story, story.desk.policy)[0] == []


def test_what_ran_on_an_order_counts_however_long_ago(story: Story) -> None:
    ask(story, "30.00")
    story.clock.advance(days=40)
    ask(story, "31.00")
    assert story.only(Status.PENDING).findings[0].code == "cumulative_over_limit"
    found, tally = tried(story, story.desk.policy)
    assert (found, tally.judged) == ([], 1)


def test_sums_are_of_one_currency(store: Store, clock: HandClock, ids: CountingIds) -> None:
    both = policy(refunds={"auto_limit": {"USD": "50.00", "JPY": "5000"}})
    story = tell_story(store, clock, ids, both)
    story.happens("UPDATE orders SET customer_id = 'cus_yuki' WHERE id = 'ORD-1008'")
    ask(story, "3000", "ORD-1012", currency="JPY")
    ask(story, "30.00", BENS)
    assert len(story.all(Status.EXECUTED)) == 2
    assert tried(story, both)[0] == []


def test_other_people_are_a_difference_and_other_reasons_are_none(story: Story) -> None:
    ask(story, "60.00")
    tiers = {"USD": [{"up_to": "59.99", "role": "refund_approver"}, {"role": "refund_manager"}]}
    (one,), tally = tried(story, of_refunds(tiers=tiers))
    assert one.change is Change.OTHER_PEOPLE
    assert tally.sums(Change.OTHER_PEOPLE) == (Money(6000, "USD"),)
    found, tally = tried(story, of_refunds(auto_limit={}))
    assert found == []
    assert tally.counts[Change.OTHER_REASONS] == 1


def test_emails_and_flags_are_judged_by_their_own_rules(story: Story) -> None:
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.email_call("call_1", template="photo_request", order_id=CLARAS))
    story.proposes(chat, story.email_call("call_2", subject="Hello", body="A word."))
    story.proposes(
        chat, story.email_call("call_3", template="photo_request", order_id=CLARAS, to=["a@b.de"])
    )
    story.proposes(chat, story.flag_call("0.6", "call_4"))
    story.proposes(chat, story.flag_call("0.9", "call_5"))
    found, _ = tried(story, policy(emails={"templates_run": False}))
    assert [words(one) for one in found] == ["RunNow -> Park tool_requires_approval"]
    found, _ = tried(story, policy(emails={"templates": {}}))
    assert [words(one) for one in found] == [
        "RunNow -> Refuse invalid_arguments",
        "Park irreversible_message -> Refuse invalid_arguments",
    ]
    found, _ = tried(story, policy(fraud_flags={"auto_score_max": "0.5"}))
    assert [words(one) for one in found] == ["RunNow -> Park fraud_flag"]
    found, tally = tried(story, policy(fraud_flags={"auto_score_max": None}))
    assert [words(one) for one in found] == ["RunNow -> Park tool_requires_approval"]
    assert tally.money == {}
    found, _ = tried(story, policy(emails={"role": "refund_manager"}))
    assert [one.change for one in found] == [Change.OTHER_PEOPLE, Change.OTHER_PEOPLE]


def test_what_was_refused_for_the_policys_numbers_is_judged_again(
    store: Store, clock: HandClock, ids: CountingIds
) -> None:
    few = policy(max_open_approvals=1, breaker={"max_refunds": 1, "cooldown_s": 600})
    story = tell_story(store, clock, ids, few)
    ask(story, "60.00")
    ask(story, "61.00")
    ask(story, "5.00")
    ask(story, "5.00", DAVIDS)
    ask(story, "6.00", DAVIDS, scope="unclear")
    ask(story, "7.00", BENS)
    assert story.trail().count("proposal.refused") == 3
    same, tally = tried(story, few)
    assert same == []
    assert (tally.judged, tally.unreadable) == (6, 0)
    more = policy(max_open_approvals=9, breaker={"when_open": "park"})
    found, tally = tried(story, more)
    assert [words(one) for one in found] == [
        "Refuse too_many_open -> Park amount_over_limit",
        "Refuse too_many_open -> RunNow",
        "Refuse breaker_open -> Park breaker_open",
    ]
    assert [one.past.id for one in found] == sorted(one.past.id for one in found)
    assert tally.sums(Change.RUNS) == (Money(500, "USD"),)
    found, _ = tried(story, policy(max_open_approvals=1, refunds={"auto_limit": {}}))
    assert "RunNow -> Park no_limit_for_currency" in [words(one) for one in found]


def test_what_waited_would_have_met_the_stop_and_the_breaker(
    store: Store, clock: HandClock, ids: CountingIds
) -> None:
    story = tell_story(store, clock, ids, policy(breaker={"max_refunds": 1, "cooldown_s": 600}))
    mia = story.hire("mia", Role.REFUND_MANAGER)
    ask(story, "60.00")
    stop_all(story.desk, story.order(mia))
    story.clock.advance(seconds=1)
    ask(story, "61.00", DAVIDS)
    lift(story.desk, story.order(mia))
    story.clock.advance(seconds=1)
    ask(story, "5.00", BENS)
    ask(story, "5.00", PRIYAS)
    assert "breaker.opened" in story.trail()
    ask(story, "62.00", PRIYAS)
    story.clock.advance(seconds=700)
    ask(story, "63.00", BENS)
    limits = {"auto_limit": {"USD": "100.00"}}
    found, _ = tried(story, policy(refunds=limits))
    waited = "Park amount_over_limit ->"
    assert [words(one) for one in found] == [
        f"{waited} RunNow",
        f"{waited} Refuse stopped",
        f"{waited} Refuse breaker_open",
        f"{waited} RunNow",
    ]
    found, _ = tried(story, policy(refunds=limits, breaker={"when_open": "park"}))
    assert [words(one) for one in found][2:] == [
        f"{waited} RunNow",
        "Refuse breaker_open -> Park breaker_open",
    ]


# --- what it leaves behind, and what it cannot read ----------------------------------------------


def test_nothing_is_written_but_that_it_was_tried(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    ask(story, "60.00")
    before, told = story.trail(), len(story.notifier.deliveries)
    other = of_refunds(auto_limit={"USD": "60.00"})
    with caplog.at_level("INFO", policy_try.__name__):
        tried(story, other, days=7)
    assert f"policy {other.version} tried on 1 proposals of 7 days: 0 same" in caplog.text
    assert story.trail() == [AuditType.POLICY_TRIED, *before]
    assert tried_facts(story) == [
        {
            "by": "cli:ana",
            "policy_version": other.version,
            "days": 7,
            "judged": 1,
            "unreadable": 0,
            "same": 0,
            "other_reasons": 0,
            "other_people": 0,
            "runs": 1,
            "waits": 0,
            "refused": 0,
        }
    ]
    story.rests()
    assert len(story.notifier.deliveries) == told
    assert story.only(Status.PENDING).policy_version == story.desk.policy.version


def test_only_the_last_days_are_looked_at(story: Story) -> None:
    ask(story, "60.00")
    story.clock.advance(days=3)
    ask(story, "60.00", DAVIDS)
    for days, judged in ((2, 1), (3, 1), (4, 2)):
        assert tried(story, story.desk.policy, days)[1].judged == judged


def test_edits_and_askings_again_are_no_proposals_of_the_model(story: Story) -> None:
    ana, mia = story.hire("ana", Role.REFUND_APPROVER), story.hire("mia", Role.REFUND_MANAGER)
    story.model.otherwise = "I see."
    ask(story, "60.00")
    story.edits(ana, story.only(Status.PENDING), Money(5500, "USD"))
    story.rests()
    ask(story, "70.00", DAVIDS)
    story.clock.advance(hours=1)
    story.sweeps()
    ask_again(story.desk, story.only(Status.EXPIRED).id, story.order(mia))
    assert len(story.all(Status.PENDING)) == 1
    assert tried(story, story.desk.policy)[1].judged == 2


def test_many_are_read_a_few_at_a_time(store: Store, clock: HandClock, ids: CountingIds) -> None:
    story = tell_story(store, clock, ids, policy(max_open_approvals=1))
    for amount in ("60.00", "61.00", "62.00"):
        for order in ORDERS:
            ask(story, amount, order)
    seen = list[Compared]()
    trial = Trial(policy(refunds={"auto_limit": {"USD": "99"}}), 30, ME, Channel.CLI)
    tally = try_policy(story.desk, trial, seen.append, at_a_time=2)
    assert (tally.judged, tally.unreadable) == (15, 0)
    assert seen == tried(story, trial.policy)[0]
    assert len({one.past.id for one in seen}) == 15


def test_damaged_rows_are_counted_and_hide_nothing(story: Story) -> None:
    ask(story, "60.00")
    ask(story, "61.00", DAVIDS)
    ask(story, "62.00", BENS)
    ask(story, "64.00", PRIYAS)
    first, second, third, _ = story.all(Status.PENDING)
    story.damages("UPDATE approvals SET findings = 'x' WHERE id = :row", row=first.id)
    story.damages("UPDATE approvals SET tool = 'send_money' WHERE id = :row", row=second.id)
    story.damages("UPDATE approvals SET confidence = 'much' WHERE id = :row", row=third.id)
    found, tally = tried(story, of_refunds(auto_limit={"USD": "99"}))
    assert (len(found), tally.judged, tally.unreadable) == (1, 1, 3)


def test_a_refusal_that_cannot_be_read_is_counted(story: Story) -> None:
    ask(story, "60.00", scope="unclear")
    run_id = story.only(Status.PENDING).run_id
    long = story.refund_call("1.00")[2].replace("it wobbles", "it wobbles " * 80)
    cases: list[Payload] = [
        {"code": "too_many_open", "tool": "issue_refund", "arguments": long[:500]},
        {"code": "too_many_open", "tool": "issue_refund"},
        {"code": "too_many_open", "tool": "lookup_order", "arguments": "{}"},
        {"code": "not_found", "tool": "issue_refund", "arguments": "{"},
    ]
    for data in cases:
        note(story, run_id, data)
    _, tally = tried(story, story.desk.policy)
    assert (tally.judged, tally.unreadable) == (1, 2)


def test_a_refused_call_that_the_tried_policy_cannot_bind_stays_refused(story: Story) -> None:
    ask(story, "60.00")
    run_id = story.only(Status.PENDING).run_id
    for call in (
        story.email_call(template="photo_request", order_id=CLARAS),
        story.email_call(template="photo_request", order_id=CLARAS, to=["a@b.de"]),
        story.flag_call("0.5"),
        story.refund_call("5.00", CLARAS, scope="unclear"),
    ):
        note(story, run_id, {"code": "too_many_open", "tool": call[1], "arguments": call[2]})
    refused = "Refuse too_many_open ->"
    found, _ = tried(story, policy())
    assert [words(one) for one in found] == [
        f"{refused} RunNow",
        f"{refused} Park irreversible_message",
        f"{refused} RunNow",
        f"{refused} Park ambiguous",
    ]
    found, tally = tried(story, policy(emails={"templates": {}}))
    assert [words(one) for one in found] == [
        f"{refused} RunNow",
        f"{refused} Park ambiguous",
    ]
    assert tally.counts[Change.OTHER_REASONS] == 2


def test_a_pause_that_still_holds_counts_for_what_was_refused(story: Story) -> None:
    ask(story, "60.00")
    parked = story.only(Status.PENDING)
    call = story.refund_call("5.00", CLARAS)
    refused: Payload = {"code": "too_many_open", "tool": call[1], "arguments": call[2]}
    note(story, parked.run_id, refused)
    story.clock.advance(seconds=1)
    with story.desk.store.transaction() as tx:
        held = Pause(CustomerId("cus_clara"), story.clock.now(), "a flag", parked.id)
        pauses.pause(tx, held)
        assert pauses.everyone(tx) == (held,)
    note(story, parked.run_id, refused)
    found, _ = tried(story, policy())
    assert [words(one) for one in found] == [
        "Refuse too_many_open -> RunNow",
        "Refuse too_many_open -> Park automatic_paused",
    ]


def note(story: Story, run_id: RunId, data: Payload) -> None:
    with story.desk.store.transaction() as tx:
        fact = audit.Fact(AuditType.PROPOSAL_REFUSED, "m", Channel.POLICY, data)
        audit.append(tx, run_id, story.clock.now(), fact)


def tried_facts(story: Story) -> list[object]:
    with story.desk.store.transaction(write=False) as tx:
        found = [fact.body for fact in audit.walk(tx) if fact.type == AuditType.POLICY_TRIED]
    return [json.loads(body)["data"] for body in found]
