"""Text that means harm, through every field that reaches Slack: literal, visible, never refused."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain.alerts import Alert, AlertKind
from agent.domain.approvals import ApprovalView, Status
from agent.domain.conversation import EventType, LogEvent
from agent.domain.hand_offs import HandOff
from agent.domain.ids import ActorId, ConversationId, RunId
from agent.domain.payload import Payload
from agent.domain.reviews import Review, ReviewState
from bot.sandbox.block_limits import check_message, check_view
from bot.slack import asked_lines, forms, hand_offs, questions
from bot.slack.alerts import alert_note
from bot.slack.blocks import Block, weight
from bot.slack.cards import BUDGET, Card, approval_card, brief_card
from bot.slack.chats import chat_entry
from bot.slack.details import Leaf, details_view, revealed_entry, revealed_view
from bot.slack.edits import Draft, Problem, edit_modal
from bot.slack.history import Happening, attempt_entry, history_entry
from bot.slack.modals import notice_modal, reject_modal
from bot.slack.names import Field
from bot.slack.notices import Note, hand_off, private_answer, thread_line
from bot.slack.paging import Entry, Reel
from bot.slack.payloads import Form
from bot.slack.reviews import review_note
from bot.slack.states import can_edit
from bot.slack.targets import PageTarget, Section
from storage.attempts import Attempt
from storage.breaker import StopNote
from tests.support.builders import CUSTOMER
from tests.support.doubles import START
from tests.support.drawn import PEOPLE, buttons, request_pages
from tests.support.hostile import (
    LATER,
    LONG,
    SHORT,
    TOOLS,
    Marks,
    assert_harmless,
    assert_harmless_text,
    view_of,
)

# Three times as fast untraced; whatever it runs is run by others too.
pytestmark = pytest.mark.untraced

SECTIONS: tuple[Section, ...] = ("request", "conversation", "history", "attempts")
# Those whose cards show most of what others wrote.
TELLING = (Status.PENDING, Status.REJECTED, Status.EXECUTED, Status.STALE)
each_short = pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
each_long = pytest.mark.parametrize("text", LONG.values(), ids=LONG)


def messages(shown: ApprovalView) -> Iterator[Card | Note]:
    """Yield every message that is posted about a request."""
    yield approval_card(shown, LATER, PEOPLE)
    yield approval_card(shown, LATER, {}, classic=True)
    yield brief_card(shown, LATER, PEOPLE)
    for status in (shown.approval.status, Status.APPROVED):
        yield thread_line(shown, status)
    for ask in shown.asks:
        yield asked_lines.question_line(shown, ask.id)
        yield asked_lines.answer_line(shown, ask.id, {})
    name, reason = shown.votes[0].actor_name, shown.votes[0].reason
    for state in ReviewState:
        review = Review(shown.approval.id, CUSTOMER, "share", state, START, START, name, reason)
        yield review_note(shown, review)


def notes(text: str) -> Iterator[Note]:
    """Yield every message that is about no request, or about what went wrong with one."""
    marks = Marks(text)
    yield private_answer(marks.next())
    past: Payload = {"status": marks.next(), "what": marks.next(), "approval_id": "apr_1"}
    told: Payload = {
        "customer": marks.next(),
        "reason": marks.next(),
        "words": [marks.next()],
        "history": [{**past, "reasons": [marks.next()]}],
        "conversation_id": marks.next(),
        "run_id": marks.next(),
    }
    yield hand_off(told)
    where, run = ConversationId("cnv_01ARZ3NDEKTSV4RRFFQ69G5FAV"), RunId("run_1")
    called_for: Payload = {"name": text, **told, "conversation_id": where}
    somebody, name = ActorId("act_1"), marks.next()
    for called in (
        HandOff(where, 1, run, called_for, START),
        HandOff(where, 1, run, called_for, START, somebody, name, START, rating=3),
        HandOff(where, 2, run, called_for, START, somebody, name, START, START, name),
    ):
        yield hand_offs.hand_off_note(called)
        for role in ("customer", "agent", "staff", "desk"):
            said: Payload = {"role": role, "by": marks.next(), "text": marks.next()}
            yield hand_offs.hand_off_line(called, said)
    for kind in AlertKind:
        body: Payload = {"text": marks.next(), "reason": marks.next(), "by": marks.next()}
        named, ended = marks.next(), marks.next()
        yield alert_note(Alert("s", kind, None, body, START), None)
        yield alert_note(Alert("s", kind, None, body, START, named, START, START, ended), None)


def views(shown: ApprovalView) -> Iterator[Block]:
    """Yield every form that opens over a request, and every page but those of the request."""
    yield reject_modal(shown, "C1")
    yield questions.ask_modal(shown, "C1")
    for draw in (
        forms.break_glass_modal,
        forms.revoke_modal,
        forms.settle_modal,
        forms.flag_modal,
    ):
        yield draw(shown, "C1")
    if can_edit(shown.approval):
        yield edit_modal(shown, "C1")
        words = shown.votes[0].reason
        for where in (Field.AMOUNT, Field.TO):
            yield edit_modal(shown, "C1", Draft(typed(words), Problem(where, words)))
    yield notice_modal("Too late", shown.votes[0].reason)
    note = StopNote(shown.votes[0].actor_name, START, shown.votes[0].reason)
    yield forms.lift_modal(note)
    for section, entry in entries(shown):
        page = PageTarget.at(shown.approval, section)
        reel = Reel([entry] * 3, 1, 3)
        leaf = Leaf(shown, PEOPLE, LATER, waiting=True, page=page, reel=reel, sections=SECTIONS)
        yield details_view(leaf, "C1")
        yield revealed_view(leaf)


def entries(shown: ApprovalView) -> Iterator[tuple[Section, Entry]]:
    yield "request", revealed_entry(shown)
    words = shown.customer_words[0]
    for kind in EventType:
        event = LogEvent(1, START, kind, {"role": words, "text": words, "status": words})
        yield "conversation", chat_entry(event, words)
    names = ("reason", "note", "message", "problem", "verdict", "why")
    data: Payload = {name: words for name in names}  # noqa: C420 - a wider type of values
    for tag in ("vote.cast", "decision.refused", "never.heard_of"):
        yield "history", history_entry(Happening(START, tag, words, words, words, data))
    edit: Payload = {"original": shown.approval.proposed, "edited": shown.approval.payload}
    yield "history", history_entry(Happening(START, "approval.edited", "", "", "", edit))
    yield "attempts", attempt_entry(Attempt(1, words, START, START, words, {words: words}))


def typed(text: str) -> Form:
    """Return a form into whose inputs the text was typed, as far as they take it."""
    names = (Field.AMOUNT, Field.ORDER, Field.TO, Field.CC, Field.BCC, Field.SUBJECT, Field.BODY)
    values = {name.value: {"value": {"value": text[:1_000]}} for name in names}
    view = {"callback_id": "edit_form", "state": {"values": values}}
    return Form.model_validate({"user": {"id": "U1"}, "view": view})


def check(shown: ApprovalView) -> None:
    for message in messages(shown):
        assert check_message(message.blocks) == []
        assert weight(message.blocks) <= BUDGET or isinstance(message, Note)
        assert_harmless(message.blocks)
        assert_harmless_text(message.text)
        if "approval_approve" in buttons(message.blocks):
            assert isinstance(message, Card)
            assert message.complete
    if shown.approval.status in {Status.PENDING, Status.REJECTED}:
        pages = request_pages(shown, waiting=shown.approval.status is Status.PENDING)
        assert_harmless(pages)
        for view in (*pages, *views(shown)):
            assert check_view(view, "modal") == []
            if view not in pages:
                assert_harmless(view)


@each_short
def test_short_text_in_all_fields_at_once(text: str) -> None:
    for tool in TOOLS:
        for status in Status if tool == "refund" else TELLING:
            check(view_of(tool, status, text))
    for note in notes(text):
        assert check_message(note.blocks) == []
        assert_harmless(note.blocks)
        assert_harmless_text(note.text)


@each_long
def test_long_text_in_all_fields_at_once(text: str) -> None:
    for tool, status in zip(TOOLS, TELLING, strict=True):
        check(view_of(tool, status, text))
    for note in notes(text):
        assert check_message(note.blocks) == []
        assert_harmless(note.blocks)
        assert_harmless_text(note.text)


@settings(max_examples=25, deadline=None)
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400),
    st.sampled_from(TOOLS),
    st.sampled_from(list(Status)),
)
def test_any_text_in_all_fields_at_once(text: str, tool: str, status: Status) -> None:
    shown: Any = view_of(tool, status, text.replace("~", "").replace("M", ""))
    check(shown)
