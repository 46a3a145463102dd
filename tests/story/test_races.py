"""Two at once: one order's money, one row, one limit; in threads, and from two desks."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.conversation import ToolCall
from agent.domain.decision import DecideAnswer, Decided, Edited, RefusalCode, Refused
from agent.domain.ids import CustomerId
from agent.domain.money import Money
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.ledger_payments import LedgerPayments
from agent.steps.decide import withdraw
from agent.steps.execute import execute
from agent.steps.gate import Proposed, propose
from agent.steps.permission import Order
from agent.steps.revoke import revoke
from agent.steps.sweep import sweep
from agent.tools.base import parse_arguments
from agent.tools.refunds import ISSUE_REFUND
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from storage import runs
from storage.engine import open_engine
from storage.transaction import Store
from tests.story.ways import ANA, BEN, MIA, approved, booked, parked, path, staff, unknown, usd
from tests.support.desk import Story


@pytest.fixture
def other(story: Story, database_url: str) -> Iterator[Story]:
    """Yield the same story at a second desk: its own store, its own replica, the same database."""
    store = Store(open_engine(database_url))
    payments = FaultyPayments(
        LedgerPayments(store, story.clock, story.desk.ids), wait=lambda _s: None
    )
    desk = replace(
        story.desk, store=store, shop=EmbeddedShop(store), payments=payments, replica="srv-other"
    )
    yield replace(story, desk=desk, payments=payments)
    store.close()


def at_once(*acts: Callable[[], object]) -> None:
    """Do everything at once, each in a thread of its own; what one raises fails the test."""
    start, failures = threading.Barrier(len(acts)), list[BaseException]()

    def run(act: Callable[[], object]) -> None:
        start.wait()
        try:
            act()
        except BaseException as failure:  # noqa: BLE001 - the test reports whatever it was
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def two_parts(story: Story, first: str, second: str) -> tuple[Approval, Approval]:
    """Let two parts of the chair's price be approved; neither is carried out."""
    rows = [parked(story, amount) for amount in (first, second)]
    for row in rows:
        story.approves(MIA, row)
    story.tells()
    one, two = (story.approval(row.id) for row in rows)
    return one, two


def paid(story: Story) -> int:
    """Return what the provider's book shows as paid by the desk, in minor units."""
    return sum(amount.minor for _, amount in story.paid())


@pytest.mark.parametrize("second_first", [False, True])
def test_of_two_parts_that_exceed_the_payment_the_first_claimed_is_paid(
    story: Story, *, second_first: bool
) -> None:
    staff(story)
    parts = two_parts(story, "100.00", "60.01")
    winner, loser = reversed(parts) if second_first else parts
    execute(story.desk, winner.id)
    execute(story.desk, loser.id)
    assert story.approval(winner.id).status is Status.EXECUTED
    assert story.approval(loser.id).status is Status.STALE
    assert winner.amount is not None
    assert paid(story) == winner.amount.minor


@pytest.mark.parametrize(("second", "executed"), [("60.00", 2), ("60.01", 1)])
def test_two_parts_at_once_never_exceed_the_payment(
    story: Story, other: Story, second: str, executed: int
) -> None:
    staff(story)
    one, two = two_parts(story, "100.00", second)
    at_once(lambda: execute(story.desk, one.id), lambda: execute(other.desk, two.id))
    assert len(story.all(Status.EXECUTED)) == executed
    assert len(story.all(Status.STALE)) == 2 - executed
    assert paid(story) == sum(booked(story, row) for row in (one, two)) <= 16000


def test_a_part_nobody_knows_about_leaves_only_the_rest(story: Story, other: Story) -> None:
    """The first part's answer never comes; the second desk must not spend its money."""
    staff(story)
    one, two = two_parts(story, "100.00", "60.01")
    story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    execute(story.desk, one.id)
    execute(other.desk, two.id)
    assert story.approval(one.id).status is Status.UNKNOWN
    assert story.approval(two.id).status is Status.STALE
    assert paid(story) == 10000


@pytest.mark.parametrize(("second", "automatic"), [("20.00", 2), ("20.01", 1)])
def test_splitting_in_two_chats_at_once_is_seen(
    story: Story, other: Story, second: str, automatic: int
) -> None:
    staff(story)
    rows = [proposed(desk, amount) for desk, amount in ((story, "30.00"), (other, second))]
    at_once(*(lambda told=told, one=one: propose(told.desk, one) for told, one in rows))
    assert len(story.all(Status.EXECUTED)) == automatic
    waiting = story.all(Status.PENDING)
    assert [row.findings[0].code.value for row in waiting] == ["cumulative_over_limit"] * (
        2 - automatic
    )
    assert paid(story) <= 5000


def proposed(story: Story, amount: str) -> tuple[Story, Proposed]:
    """Return a proposal that has not met the gate yet, in a conversation of its own."""
    chat = story.opens_chat("cus_clara")
    story.model.says("What can I do for you?")
    story.says(chat, "hello")
    call_id, name, arguments = story.refund_call(amount)
    with story.desk.store.transaction(write=False) as tx:
        (run,) = runs.newest(tx, 1)
    call = ToolCall(call_id, name, arguments)
    wanted = parse_arguments(ISSUE_REFUND, arguments)
    return story, Proposed(run.id, chat, CustomerId("cus_clara"), call, wanted, "scripted-1")


def test_an_identical_proposal_at_once_is_one_row(story: Story, other: Story) -> None:
    staff(story)
    rows = [proposed(desk, "160.00") for desk in (story, other)]
    at_once(*(lambda told=told, one=one: propose(told.desk, one) for told, one in rows))
    assert len(story.all(Status.PENDING)) == 1
    assert story.trail().count("proposal.joined") == 1


def test_two_claims_at_once_pay_once(story: Story, other: Story) -> None:
    staff(story)
    row = approved(story)
    at_once(lambda: execute(story.desk, row.id), lambda: execute(other.desk, row.id))
    assert story.approval(row.id).attempts == 1
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]


def test_two_edits_at_once_one_wins_and_the_other_is_told(story: Story, other: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    answers: list[DecideAnswer] = []
    at_once(
        lambda: answers.append(story.edits(ANA, row, usd(8000))),
        lambda: answers.append(other.edits(BEN, row, usd(9000))),
    )
    (won,) = (answer for answer in answers if isinstance(answer, Edited))
    (lost,) = (answer for answer in answers if isinstance(answer, Refused))
    assert lost.code is RefusalCode.SUPERSEDED
    assert won.approval.id in lost.message
    assert lost.earlier is not None
    assert lost.earlier.verdict == "edit"
    story.rests()
    assert won.approval.amount is not None
    assert paid(story) == won.approval.amount.minor


def test_approval_and_withdrawal_at_once_end_one_way(story: Story, other: Story) -> None:
    staff(story)
    row = parked(story)
    said: list[object] = []
    at_once(
        lambda: said.append(story.approves(ANA, row)),
        lambda: said.append(withdraw(other.desk, row.id, row.customer_id)),
    )
    assert sum(isinstance(answer, Refused) for answer in said) == 1
    story.rests()
    ended = story.approval(row.id).status
    assert ended in {Status.EXECUTED, Status.CANCELLED}
    assert paid(story) == (16000 if ended is Status.EXECUTED else 0)


def test_claim_and_revocation_at_once_end_one_way(story: Story, other: Story) -> None:
    staff(story)
    row = approved(story)
    order: Order = story.order(MIA)
    said: list[object] = []
    at_once(
        lambda: execute(story.desk, row.id),
        lambda: said.append(revoke(other.desk, row.id, order)),
    )
    ended = story.approval(row.id).status
    assert ended is (Status.EXECUTED if isinstance(said[0], Refused) else Status.CANCELLED)
    assert booked(story, row) == (16000 if ended is Status.EXECUTED else 0)


def test_two_sweeps_at_once_send_once(story: Story, other: Story) -> None:
    staff(story)
    row = unknown(story)
    story.clock.advance(seconds=10)
    at_once(lambda: sweep(story.desk), lambda: sweep(other.desk))
    story.clock.advance(seconds=10)
    sweep(story.desk)
    story.rests()
    assert story.approval(row.id).status is Status.EXECUTED
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]
    assert path(story, row).count(Status.EXECUTING) == story.approval(row.id).attempts


def test_the_last_two_votes_at_once_are_one_decision(story: Story, other: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    said: list[DecideAnswer] = []
    at_once(
        lambda: said.append(story.approves(ANA, row)),
        lambda: said.append(other.approves(MIA, row)),
    )
    assert sum(isinstance(answer, Decided) for answer in said) == 1
    story.rests()
    assert story.paid() == [("ORD-1004", Money(234000, "USD"))]
