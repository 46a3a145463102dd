"""How questions look on a card, under it and in full: true, and whole or said to be cut."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.approvals import ApprovalView, Status
from agent.domain.asks import Ask, AskedOf
from bot.sandbox.block_limits import check_message, text_total
from bot.slack.asked import in_full, on_card
from bot.slack.asked_lines import answer_line, question_line
from bot.slack.cards import approval_card
from bot.slack.text import NO_LIMIT, clip
from tests.support.builders import ADDRESS, ANN, approval, email_approval, email_payload
from tests.support.doubles import START
from tests.support.slack_looks import shown

WHY = "Which leg is broken?"
LATER = START + timedelta(minutes=3)
PEOPLE = {ANN: "U07ANN"}


def ask(number: int = 1, **changes: Any) -> Ask:
    row = approval()
    one = Ask(
        id=f"ask_{number}",
        approval_id=row.id,
        conversation_id=row.conversation_id,
        run_id=row.run_id,
        asked_of=AskedOf.CUSTOMER,
        actor_id=ANN,
        actor_name="Ann",
        question=WHY,
        asked_at=START,
        answered_at=None,
        answer=None,
        late=False,
    )
    return replace(one, **changes)


def answered(words: str | None = "The left one.", **changes: Any) -> Ask:
    return ask(answered_at=LATER, answer=words, **changes)


def view(*asks: Ask, status: Status = Status.PENDING, name: str = "Clara Nguyen") -> ApprovalView:
    return ApprovalView(approval(status=status), (), name, "clara@example.com", (), asks=asks)


def words(blocks: list[Any]) -> str:
    return shown({"blocks": blocks})


@pytest.mark.parametrize(
    ("one", "status", "told"),
    [
        (ask(), Status.PENDING, "No answer yet"),
        (ask(), Status.EXPIRED, "No answer came before the request ended"),
        (answered(), Status.PENDING, 'Clara N. answered"'),
        (answered(late=True), Status.REJECTED, "Clara N. answered after the request had ended"),
        (answered(asked_of=AskedOf.AGENT), Status.APPROVED, 'The agent answered"'),
        (answered(None, asked_of=AskedOf.AGENT), Status.PENDING, "The agent could give no answer"),
    ],
)
def test_what_came_back_is_said_as_it_was(one: Ask, status: Status, told: str) -> None:
    shown_view = view(one, status=status)
    card = words(on_card(shown_view, NO_LIMIT))
    whole = words(in_full(shown_view))
    for text in (card, whole):
        assert told in text
        assert WHY in text
        assert (one.answer or "\0") in text or one.answer is None


def test_without_a_question_there_is_nothing() -> None:
    assert on_card(view(), NO_LIMIT) == in_full(view()) == []


def test_a_card_shows_the_newest_and_says_how_many_there_are_besides() -> None:
    many = view(*(ask(n, question=f"Question number {n}?") for n in range(5)))
    card = words(on_card(many, NO_LIMIT))
    assert "2 earlier in Details" in card
    assert [n for n in range(5) if f"number {n}?" in card] == [2, 3, 4]
    assert all(f"number {n}?" in words(in_full(many)) for n in range(5))


def test_an_answer_calls_who_asked_and_shows_the_deadline_while_it_helps() -> None:
    note = answer_line(view(answered()), "ask_1", PEOPLE)
    assert '"user_id": "U07ANN"' in words(note.blocks)
    assert '"type": "date"' in words(note.blocks)
    assert note.text == "💬 Refund of 160.00 USD: Clara N. answered. The left one."
    # Who has no account in this workspace is named; what has ended has no deadline.
    ended = answer_line(view(answered(None), status=Status.EXPIRED), "ask_1", {})
    assert "Ann" in words(ended.blocks)
    assert '"type": "date"' not in words(ended.blocks)
    asked = question_line(view(ask()), "ask_1")
    assert '"type": "user"' not in words(asked.blocks)
    assert asked.text == f"💬 Refund of 160.00 USD: Ann asks the customer. {WHY}"
    with pytest.raises(ValueError, match="no question about"):
        question_line(view(ask()), "ask_2")


def test_a_customer_whom_the_shop_does_not_know_has_no_name() -> None:
    note = answer_line(view(answered(), name=""), "ask_1", PEOPLE)
    assert ": the customer answered:" in words(note.blocks)


def test_what_identifies_a_customer_is_masked_until_it_is_revealed() -> None:
    told = view(answered("I am Clara Nguyen, write to clara@home.example"))
    for text in (words(on_card(told, NO_LIMIT)), words(in_full(told))):
        assert "clara@home.example" not in text
    assert "clara@home.example" in words(in_full(told, revealed=True))
    line = answer_line(told, "ask_1", PEOPLE)
    assert "clara@home" not in words(line.blocks) + line.text


@pytest.mark.parametrize(
    "text", ["&" * 4000, "\u202e" * 4000, "<!channel>" * 400, "👩\u200d👧" * 900]
)
def test_the_longest_and_worst_words_fit_and_take_no_button(text: str) -> None:
    worst = view(*(answered(text, id=f"ask_{n}", question=text[:1000]) for n in range(5)))
    card = approval_card(worst, LATER, PEOPLE)
    assert card.complete
    assert "approval_approve" in words(card.blocks)
    assert check_message(card.blocks) == []
    assert "more characters)" in words(card.blocks)
    for note in (question_line(worst, "ask_1"), answer_line(worst, "ask_1", PEOPLE)):
        assert check_message(note.blocks) == []
        assert text_total(note.blocks) <= 9_000
        assert len(note.text.encode()) <= 3_800


def test_questions_are_cut_before_anything_that_is_bound() -> None:
    asks = tuple(answered("y" * 400, id=f"ask_{n}", question="x" * 400) for n in range(3))
    for length, room in ((5_500, 300), (7_000, 40)):
        row = email_approval(payload=email_payload(template=None, body="b" * length))
        full = ApprovalView(row, (), "Clara Nguyen", ADDRESS, (), asks=asks)
        card = approval_card(full, LATER, PEOPLE)
        assert card.complete
        assert words(card.blocks).count("b") >= length
        assert f"{'y' * room} … ({400 - room} more characters)" in words(card.blocks)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("abc", "abc"),
        ("a&c", "a&c"),
        ("abcdefgh", "abcdefg … (1 more characters)"),
        ("a&&c", "a& … (2 more characters)"),
        ("<<<<", "< … (3 more characters)"),
    ],
)
def test_a_text_is_cut_as_slack_counts_it(text: str, cut: str) -> None:
    assert clip(text, 7) == cut
