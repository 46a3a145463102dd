"""`agent pending review`: the queue at the terminal, one request after the other."""

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from agent.domain.roles import Role
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal

REVIEW = ("pending", "review")


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    told = tell_story(store, clock, ids)
    told.model.otherwise = "I see."
    told.hire("ana", Role.REFUND_APPROVER)
    return told


@pytest.fixture
def terminal(story: Story) -> Terminal:
    return Terminal(story)


def waits(story: Story, *amounts: str) -> tuple[Approval, ...]:
    chat = story.opens_chat("cus_clara")
    for number, amount in enumerate(amounts):
        story.asks_refund(chat, amount, call_id=f"call_{number}")
    return story.all(Status.PENDING)


def test_nothing_waits(terminal: Terminal) -> None:
    assert terminal.run(*REVIEW).stdout == "Nothing waits.\n"


def test_each_request_is_decided_by_itself(story: Story, terminal: Terminal) -> None:
    paid, rejected, left = waits(story, "51.00", "52.00", "53.00")
    typed = "y\nn\nnot_eligible\noutside the window\n\n"
    done = terminal.run(*REVIEW, typed=typed)
    assert [line for line in done.stdout.splitlines() if " of 3" in line] == [
        "1 of 3",
        "2 of 3",
        "3 of 3",
    ]
    for approval in (paid, rejected, left):
        assert approval.payload_hash in done.stdout
    assert done.stdout.splitlines()[-1] == "Nothing else waits."
    assert story.approval(paid.id).status is Status.EXECUTED
    assert story.approval(rejected.id).status is Status.REJECTED
    assert story.only(Status.PENDING).id == left.id
    assert story.paid() == [("ORD-1001", Money(5100, "USD"))]


def test_q_ends_the_walk(story: Story, terminal: Terminal) -> None:
    waits(story, "51.00", "52.00")
    done = terminal.run(*REVIEW, typed="q\n")
    assert "1 of 2" in done.stdout
    assert "2 of 2" not in done.stdout
    assert len(story.all(Status.PENDING)) == 2


def test_an_edit_is_typed(story: Story, terminal: Terminal) -> None:
    waits(story, "60.00")
    done = terminal.run(*REVIEW, typed="e\nmany\nless\ne\n55.00\nless\n")
    assert done.stderr.startswith("invalid: amount: 'many'")
    assert story.paid() == [("ORD-1001", Money(5500, "USD"))]


def test_what_somebody_else_decided_meanwhile_is_passed_over(
    story: Story, terminal: Terminal
) -> None:
    first, second = waits(story, "51.00", "52.00")
    ben = story.hire("ben", Role.REFUND_APPROVER)
    # The walk waits for a desk that works elsewhere; in that time somebody decides.
    story.model.otherwise = None
    story.model.breaks()
    story.model.says("Paid.")
    story.model.says("Declined.")

    def meanwhile() -> None:
        story.clock.advance(seconds=0.25)
        if story.approval(second.id).status is Status.PENDING:
            story.rejects(ben, second)

    terminal.meanwhile = meanwhile
    done = terminal.run(*REVIEW, typed="y\n")
    assert story.approval(first.id).status is Status.EXECUTED
    assert "2 of 2" not in done.stdout
    assert story.approval(second.id).status is Status.REJECTED


def test_who_may_not_decide_walks_on(story: Story) -> None:
    waits(story, "51.00", "52.00")
    story.hire("sam")
    done = Terminal(story, "sam").run(*REVIEW, typed="y\ny\n")
    assert done.stderr.count("not_allowed: ") == 2
    assert len(story.all(Status.PENDING)) == 2


def test_what_is_not_text_ends_the_walk(story: Story, terminal: Terminal) -> None:
    waits(story, "51.00")
    ended = terminal.run(*REVIEW, typed=b"\xff\xfe\n", code=1)
    assert ended.stderr == "invalid: What was typed is not text in this encoding.\n"
