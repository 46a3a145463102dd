"""Two desks whose people and customers cross: nothing breaks, and everybody is answered."""

import threading
from collections.abc import Callable

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, Edited, Refused
from agent.domain.policy import read_policy
from agent.steps.ask_again import ask_again
from agent.steps.decide import withdraw
from agent.steps.revoke import revoke
from agent.steps.stop import lift, stop_all
from tests.story.orders import owner_of
from tests.story.test_races import other
from tests.story.ways import ANA, BEN, MAX, MIA, staff
from tests.support.builders import policy_document
from tests.support.desk import Story

__all__ = ["other"]
_ROUNDS = 6
Act = Callable[[], object]


def at_once(*acts: Act) -> list[object]:
    """Do everything at the same moment and return the answers, or what broke."""
    start, answers = threading.Barrier(len(acts)), list[object]()

    def run(act: Act) -> None:
        start.wait()
        try:
            answers.append(act())
        except Exception as error:  # noqa: BLE001 - what breaks is the finding
            answers.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def two_waiting(story: Story, number: int) -> tuple[Approval, Approval]:
    """Let a customer ask for two amounts in one chat."""
    chat = story.opens_chat(owner_of(story, "ORD-1004"))
    for first, name in ((6000, "a"), (16000, "b")):
        amount = f"{(first + number) / 100:.2f}"
        story.proposes(chat, story.refund_call(amount, "ORD-1004", call_id=f"{name}{number}"))
    one, two = story.all(Status.PENDING)[-2:]
    return one, two


@pytest.fixture
def patient(story: Story) -> Story:
    """Return a desk at which people may say no as often as they like."""
    document = policy_document()
    document["max_revisions"] = 100
    document["max_open_approvals"] = 100
    many = story.under(read_policy(document))
    staff(many)
    return many


def edits_to_the_other(story: Story, other: Story, one: Approval, two: Approval) -> list[Act]:
    return [lambda: story.edits(ANA, one, two.amount), lambda: other.approves(MIA, two)]


def edits_while_it_is_withdrawn(
    story: Story, other: Story, one: Approval, two: Approval
) -> list[Act]:
    return [
        lambda: story.edits(ANA, one, two.amount),
        lambda: withdraw(other.desk, two.id, two.customer_id),
    ]


def edits_each_to_the_other(story: Story, other: Story, one: Approval, two: Approval) -> list[Act]:
    return [
        lambda: story.edits(ANA, one, two.amount),
        lambda: other.edits(BEN, two, one.amount),
    ]


def edits_crossing_orders(story: Story, other: Story, one: Approval, two: Approval) -> list[Act]:
    return [
        lambda: story.edits(ANA, one, order_id="ORD-1006"),
        lambda: other.edits(BEN, two, order_id="ORD-1006"),
    ]


def approves_and_revokes(story: Story, other: Story, one: Approval, two: Approval) -> list[Act]:
    other.approves(MIA, two)
    return [
        lambda: story.approves(MAX, one),
        lambda: revoke(other.desk, two.id, other.order(MIA)),
    ]


@pytest.mark.parametrize(
    "acts",
    [
        edits_to_the_other,
        edits_while_it_is_withdrawn,
        edits_each_to_the_other,
        edits_crossing_orders,
        approves_and_revokes,
    ],
)
def test_crossing_words_are_all_answered(
    patient: Story,
    other: Story,
    acts: Callable[[Story, Story, Approval, Approval], list[Act]],
) -> None:
    for number in range(_ROUNDS):
        one, two = two_waiting(patient, number)
        answers = at_once(*acts(patient, other, one, two))
        assert all(isinstance(a, Approval | Decided | Edited | Refused) for a in answers), answers
        for row in patient.all(Status.PENDING):
            patient.rejects(MIA, row)
        patient.rests()


def test_a_chip_never_says_paused_of_what_was_called_off(patient: Story, other: Story) -> None:
    manager = patient.order(MIA)
    for number in range(_ROUNDS):
        row, _ = two_waiting(patient, number)
        patient.approves(MAX, row)
        at_once(
            lambda: stop_all(patient.desk, manager),
            lambda: revoke(other.desk, row.id, other.order(MIA)),  # noqa: B023 - ends in this round
        )
        assert patient.chips(row.conversation_id)[-1] == "withdrawn"
        lift(patient.desk, manager)
        for left in patient.all(Status.PENDING):
            patient.rejects(MIA, left)
        patient.rests()


def test_what_is_asked_again_meets_the_same_from_the_customer(patient: Story, other: Story) -> None:
    for number in range(_ROUNDS):
        row, _ = two_waiting(patient, number)
        patient.clock.at = row.expires_at
        patient.sweeps()
        call = other.refund_call(f"{(6000 + number) / 100:.2f}", "ORD-1004", call_id=f"c{number}")
        other.model.calls(call)
        other.model.says("I have asked for it.")
        answers = at_once(
            lambda: ask_again(patient.desk, row.id, patient.order(MIA)),  # noqa: B023
            lambda: other.says(row.conversation_id, "please"),  # noqa: B023
        )
        assert not any(isinstance(answer, Exception) for answer in answers), answers
        # Whoever holds the conversation at that moment makes the turn wait for the next look.
        other.rests()
        assert not other.model.answers
        assert len(patient.all(Status.PENDING)) == 1
        for left in patient.all(Status.PENDING):
            patient.rejects(MIA, left)
        patient.rests()
