"""`agent pending` beside deciding: unknown outcomes, revoke, settle, ask again, the glass."""

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from agent.domain.roles import Role
from agent.steps.stop import stop_all
from bot.sandbox.payments_faults import FaultKind
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal, value

CHAIR = ("ORD-1001", Money(16000, "USD"))
WHY = ("--reason", "the customer called")
SEEN = ("--evidence", "bank_record", "--reference", "statement 7")


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    told = tell_story(store, clock, ids)
    told.model.otherwise = "I see."
    for name, role in (
        ("ana", Role.REFUND_APPROVER),
        ("mia", Role.REFUND_MANAGER),
        ("olu", Role.ONCALL),
    ):
        told.hire(name, role)
    return told


@pytest.fixture
def ana(story: Story) -> Terminal:
    return Terminal(story, "ana")


@pytest.fixture
def mia(story: Story) -> Terminal:
    return Terminal(story, "mia")


@pytest.fixture
def parked(story: Story) -> Approval:
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    return story.only(Status.PENDING)


def approved(story: Story, parked: Approval) -> Approval:
    """Approve while everything is stopped, so that it waits for its execution."""
    stop_all(story.desk, story.order(story.hire("eve", Role.ONCALL)))
    story.approves(story.hire("ann", Role.REFUND_APPROVER), parked)
    return story.only(Status.APPROVED)


def unknown(story: Story, ana: Terminal, parked: Approval) -> Approval:
    """Approve a refund of which the provider says nothing clear, however often it is asked."""
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 9)
    ana.run("pending", "approve", parked.id, typed="y\n")
    return story.only(Status.UNKNOWN)


def passes_a_day(story: Story) -> None:
    for minutes in (5, 23 * 60, 10, 10):
        story.clock.advance(minutes=minutes)
        story.sweeps()


# --- unknown outcomes ----------------------------------------------------------------------------


def test_an_unknown_outcome_is_told_as_it_is(story: Story, ana: Terminal, parked: Approval) -> None:
    approval = unknown(story, ana, parked)
    shown = ana.run("pending", "show", approval.id)
    assert value(shown, "status") == "unknown"
    assert value(shown, "attempts") == "1"
    assert value(shown, "attempt 1") == (
        f"sent 2026-11-29T12:00:00Z with key {approval.idempotency_key}, "
        'unclear 2026-11-29T12:00:00Z {"problem": "timeout: no answer from the provider"}'
    )
    assert value(shown, "unknown") == (
        "nobody can say yet whether it went through; it counts as if it had"
    )
    assert value(shown, "looks") == "0 in vain"
    assert value(shown, "asked again") == "2026-11-29T12:00:05Z"
    assert value(shown, "sent again") == (
        "if it is provably absent: same key and bytes, until 2026-11-30T11:00:00Z"
    )
    assert value(shown, "a person can") == (
        "say what they have found out from 2026-11-30T11:00:00Z on, after 2 looks in vain: "
        f"agent pending settle {approval.id} (role refund_manager)"
    )
    assert "failed" not in shown.stdout

    story.clock.advance(seconds=5)
    story.sweeps()
    stop_all(story.desk, story.order(story.hire("eve", Role.ONCALL)))
    story.clock.advance(minutes=10)
    story.sweeps()
    later = ana.run("pending", "show", approval.id)
    assert value(later, "attempt 2").startswith("sent 2026-11-29T12:00:05Z with key rd-")
    assert value(later, "looks") == "1 in vain, last at 2026-11-29T12:10:05Z"
    assert value(later, "sent again").endswith(", but not while everything is stopped")
    (line,) = ana.run("pending", "list", "--status", "unknown").stdout.splitlines()[1:]
    assert line.startswith(f"{approval.id}  ")
    assert ana.json("pending", "list", "--json") == []
    ana.run("pending", "list", "--status", "lost", code=2)


def test_an_execution_under_way_has_no_answer_yet(
    story: Story, ana: Terminal, parked: Approval
) -> None:
    approval = unknown(story, ana, parked)
    story.damages(
        "UPDATE attempts SET ended_at = NULL, outcome = NULL, answer = NULL"
        " WHERE approval_id = :id",
        id=approval.id,
    )
    shown = value(ana.run("pending", "show", approval.id), "attempt 1")
    assert shown.endswith(f"with key {approval.idempotency_key}, no answer yet")


# --- settle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["executed", "failed"])
def test_an_unknown_outcome_is_settled_with_evidence(
    story: Story, ana: Terminal, mia: Terminal, parked: Approval, outcome: str
) -> None:
    approval = unknown(story, ana, parked)
    words = ("pending", "settle", parked.run_id, "--outcome", outcome, *SEEN)
    assert "too_early: " in mia.run(*words, code=1).stderr
    passes_a_day(story)
    assert "not_allowed: " in ana.run(*words, code=1).stderr
    done = mia.run(*words, "--note", "we called them")
    assert value(done, "settled") == "by your word"
    assert done.stdout.splitlines()[-5].split() == ["status", outcome]
    shown = mia.run("pending", "show", approval.id)
    assert value(shown, "result.reference") == '"statement 7"'
    assert value(shown, "result.note") == '"we called them"'
    again = mia.run(*words, code=1)
    assert again.stderr.startswith("already_decided: ")


def test_the_providers_own_record_wins(
    story: Story, ana: Terminal, mia: Terminal, parked: Approval
) -> None:
    story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    ana.run("pending", "approve", parked.id, typed="y\n")
    approval = story.only(Status.UNKNOWN)
    # As if two looks had been in vain before the provider's book showed it.
    story.damages("UPDATE approvals SET clean_looks = 2 WHERE id = :id", id=approval.id)
    story.clock.advance(hours=23)
    done = mia.run("pending", "settle", approval.id, "--outcome", "failed", *SEEN)
    assert value(done, "settled") == "by the provider's own record"
    assert story.approval(approval.id).status is Status.EXECUTED
    assert story.paid() == [CHAIR]


def test_settling_takes_typed_words(mia: Terminal) -> None:
    for words in (
        ("--outcome", "unknown", *SEEN),
        ("--outcome", "failed", "--evidence", "a feeling", "--reference", "none"),
        ("--outcome", "failed", "--evidence", "bank_record"),
    ):
        mia.run("pending", "settle", "apr_1", *words, code=2)
    gone = mia.run("pending", "settle", "apr_none", "--outcome", "failed", *SEEN, code=1)
    assert gone.stderr == "not_found: There is no such request.\n"
    assert gone.stdout == ""


# --- revoke --------------------------------------------------------------------------------------


def test_an_approval_is_revoked_and_never_paid(
    story: Story, ana: Terminal, mia: Terminal, parked: Approval
) -> None:
    approval = approved(story, parked)
    assert (
        "not_allowed: "
        in Terminal(story, "olu").run("pending", "revoke", approval.id, *WHY, code=1).stderr
    )
    assert (
        "reason_required: "
        in ana.run("pending", "revoke", approval.id, "--reason", "no", code=1).stderr
    )
    done = ana.run("pending", "revoke", approval.run_id, *WHY)
    assert value(done, "revoked") == approval.id
    assert value(done, "status") == "cancelled"
    mia.run("breaker", "lift", "--reason", "it is mended")
    story.rests()
    assert story.paid() == []
    late = ana.run("pending", "revoke", approval.id, *WHY, code=1)
    assert late.stderr == "already_decided: Too late: the request is cancelled.\n"
    assert ana.run("pending", "revoke", "apr_none", *WHY, code=1).stderr.startswith("not_found: ")
    ana.run("pending", "revoke", approval.id, code=2)


def test_what_still_waits_is_withdrawn_in_the_customers_stead(
    story: Story, ana: Terminal, parked: Approval
) -> None:
    assert value(ana.run("pending", "revoke", parked.id, *WHY), "status") == "cancelled"
    story.rests()
    assert story.paid() == []


# --- ask again -----------------------------------------------------------------------------------


def test_what_expired_is_asked_again(story: Story, ana: Terminal, parked: Approval) -> None:
    early = ana.run("pending", "ask-again", parked.id, code=1)
    assert early.stderr.startswith("invalid: Only what is stale or expired")
    story.clock.advance(minutes=30)
    story.sweeps()
    done = ana.run("pending", "ask-again", parked.run_id)
    new = story.only(Status.PENDING)
    assert value(done, "asked again") == f"{new.id} instead of {parked.id}"
    assert value(done, "status") == "pending"
    again = ana.run("pending", "ask-again", parked.id, code=1)
    assert again.stderr == f"superseded: It was asked again already: {new.id}.\n"
    assert ana.run("pending", "ask-again", "apr_none", code=1).stderr.startswith("not_found: ")
    ana.run("pending", "approve", new.id, typed="y\n")
    assert story.paid() == [CHAIR]


def test_a_run_with_two_of_a_kind_stands_for_neither(story: Story, ana: Terminal) -> None:
    calls = [story.refund_call(f"1{n}0.00", call_id=f"c{n}") for n in range(2)]
    story.proposes(story.opens_chat("cus_clara"), *calls)
    first, second = story.all(Status.PENDING)
    story.clock.advance(minutes=30)
    story.sweeps()
    refused = ana.run("pending", "ask-again", first.run_id, code=1)
    assert refused.stderr == (
        f"ambiguous: The run has 2 expired or stale approvals: {first.id}, {second.id}\n"
    )


# --- breaking the glass --------------------------------------------------------------------------


def test_on_call_decides_alone_with_a_reason(story: Story, ana: Terminal) -> None:
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    parked = story.only(Status.PENDING)
    words = ("pending", "approve", parked.id, "--break-glass")
    olu = Terminal(story, "olu")
    assert "--break-glass needs --reason" in olu.run(*words, code=2).stderr
    assert "not_allowed: " in ana.run(*words, *WHY, typed="y\n", code=1).stderr
    plain = olu.run("pending", "approve", parked.id, typed="y\n", code=1)
    assert "not_allowed: " in plain.stderr
    olu.run(*words, "--reason", "nobody else is awake", typed="y\n")
    assert story.paid() == [CHAIR]
    vote = value(ana.run("pending", "show", parked.id), "vote")
    assert vote == (
        "approve by Olu, breaking the glass, (cli) at 2026-11-29T12:00:00Z: nobody else is awake"
    )
