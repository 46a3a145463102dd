"""Ask, by real clicks and submissions: the form, the chat, the card and its thread."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from agent.domain.approvals import Approval, Status
from bot.sandbox.cast import ANA
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.outside import button_value
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

WHY = "Which leg of the chair is broken?"
HOSTILE = "<!channel> <https://evil.example|ok> \u202e\u200b `*_~ :x: \u0645\u0631\u062d"
# The same as people read it: nothing is hidden and nothing is markup.
SEEN = HOSTILE.replace("\u202e\u200b", r"\u202e\u200b")
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def store(sqlite_template: Path, tmp_path: Path) -> Iterator[Store]:
    """Yield one database: what is asked of it is shown on both in tests/story/test_ask.py."""
    path = tmp_path / "desk.db"
    shutil.copyfile(sqlite_template, path)
    store = Store(open_engine(f"sqlite:///{path}"))
    yield store
    store.close()


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        told.model.otherwise = "I have passed that on."
        yield told


def asks(
    story: SlackStory, user: str, approval: Approval, of: str = "customer", text: str = WHY
) -> dict[str, Any]:
    """Let a person fill in the form behind Ask."""
    story.clicks(user, approval, "approval_ask")
    return story.submits(user, asked_of=of, question=text)


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def literal(value: Any) -> Iterator[str]:
    """Yield every text of blocks that Slack draws letter by letter, as Slack keeps it."""
    if isinstance(value, list):
        for one in value:
            yield from literal(one)
    elif isinstance(value, dict):
        if value.get("type") in {"text", "plain_text"}:
            yield unescaped(value["text"])
        for one in value.values():
            yield from literal(one)


def markup(value: Any) -> Iterator[str]:
    """Yield every text of blocks that Slack reads as markup."""
    if isinstance(value, list):
        for one in value:
            yield from markup(one)
    elif isinstance(value, dict):
        if value.get("type") == "mrkdwn":
            yield value["text"]
        for one in value.values():
            yield from markup(one)


def thread(story: SlackStory, approval: Approval) -> list[dict[str, Any]]:
    """Return the messages under a card."""
    root = story.cards(approval)[0]
    return [m for m in story.posted(root["channel"]) if m["thread_ts"] == root["ts"]]


def test_the_form_marks_what_must_be_mended(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_ask")
    form = story.form("ana")
    assert title(form) == "Ask a question"
    until = f"<!date^{int(approval.expires_at.timestamp())}^"
    assert until in shown(form)
    (choice,) = (b for b in form["blocks"] if b["block_id"] == "asked_of")
    assert [o["value"] for o in choice["element"]["options"]] == ["customer", "agent"]
    # What is missing or cannot be read is marked where it stands.
    unpicked = story.submits("ana", force=True, question=WHY)
    assert unpicked["errors"] == {"asked_of": "Pick one."}
    unread = story.submits("ana", asked_of="customer", question="        ")
    assert "at least 5 characters" in unread["errors"]["question"]
    result = story.submits("ana", asked_of="customer", question=WHY)
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert story.forms("ana") == 0


def test_a_question_and_its_answer_stand_in_chat_thread_and_card(story: SlackStory) -> None:
    approval = story.parks()
    before = story.card(approval)
    asks(story, "ana", approval, text=HOSTILE)
    (said,) = [e.data for e in story.log(approval.conversation_id) if e.data.get("role") == "staff"]
    assert said["question"] == HOSTILE
    (line,) = thread(story, approval)
    assert f"{ANA.name} asks the customer" in line["text"]
    assert SEEN in list(literal(line["blocks"]))
    # The deadline, in the reader's own zone, while it can still be met.
    assert '"type": "date"' in shown(line)
    card = story.card(approval)
    assert SEEN in list(literal(card["blocks"]))
    assert "No answer yet" in shown(card)
    assert action_ids(card) == action_ids(before)
    story.clock.advance(seconds=20)
    story.says(approval.conversation_id, HOSTILE)
    question, answer = thread(story, approval)
    assert question["ts"] == line["ts"]
    assert SEEN in list(literal(answer["blocks"]))
    # Whoever asked is called; nobody else is, and no link is one.
    users = [b for b in answer["blocks"][0]["elements"][0]["elements"] if b["type"] == "user"]
    assert [one["user_id"] for one in users] == [ANA.slack_user_id]
    assert "Clara" in shown(answer)
    card = story.card(approval)
    assert list(literal(card["blocks"])).count(SEEN) == 2
    assert "No answer yet" not in shown(card)
    for message in (question, answer, card):
        assert "evil" not in json.dumps(list(markup(message["blocks"])))
        assert "<!channel>" not in message["text"]
    # Approve still binds what was shown, and the answer stays on the card.
    story.presses("ana", before, "approval_approve")
    assert story.approval(approval.id).status is Status.EXECUTED
    assert SEEN in list(literal(story.card(approval)["blocks"]))
    story.clicks("ben", approval, "approval_review", button_value(before, "approval_review"))
    assert list(literal(story.form("ben")["blocks"])).count(SEEN) == 2


def test_the_agents_answer_is_for_the_team(story: SlackStory) -> None:
    approval = story.parks()
    log = len(story.log(approval.conversation_id))
    story.model.says("It is one chair, and " + "very " * 1500 + "old.")
    assert asks(story, "mia", approval, "agent")["response_action"] == "clear"
    question, answer = thread(story, approval)
    assert "asks the agent" in question["text"]
    assert "The agent answered" in shown(story.card(approval))
    assert "It is one chair" in shown(answer)
    # Too long for a line: how much is missing is said, and Details has it whole.
    assert "more characters)" in shown(answer)
    assert len(story.log(approval.conversation_id)) == log
    story.clicks("mia", approval, "approval_review")
    whole = "".join(literal(story.form("mia")["blocks"]))
    assert "old." in whole
    assert "approval_ask" in action_ids(story.form("mia"))


def test_one_form_is_one_question(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_ask")
    form = story.form("ana")
    state: dict[str, Any] = {
        "values": {
            "asked_of": {"value": {"type": "radio_buttons", "selected_option": _option(form)}},
            "question": {"value": {"type": "plain_text_input", "value": WHY}},
        }
    }
    view = {name: form[name] for name in ("id", "type", "callback_id", "private_metadata")}
    payload = {
        "type": "view_submission",
        "user": {"id": ANA.slack_user_id, "team_id": story.slack.config.team_id},
        "team": {"id": story.slack.config.team_id},
        "view": view | {"state": state},
    }
    body = urlencode({"payload": json.dumps(payload)}).encode()
    for _ in range(2):
        assert story.sends(body, FORM).json() == {"response_action": "clear"}
    story.rests()
    assert len(thread(story, approval)) == 1
    # A form with a choice that was never offered is not taken for one.
    state["values"]["asked_of"]["value"]["selected_option"]["value"] = "everybody"
    body = urlencode({"payload": json.dumps(payload | {"view": view | {"state": state}})}).encode()
    assert story.sends(body, FORM).json()["response_action"] == "errors"


def _option(form: dict[str, Any]) -> dict[str, Any]:
    (choice,) = (b for b in form["blocks"] if b["block_id"] == "asked_of")
    return dict(choice["element"]["options"][0])


def test_a_form_over_what_has_ended_says_how(story: SlackStory) -> None:
    approval = story.parks()
    before = story.card(approval)
    story.clicks("ana", approval, "approval_ask")
    story.clicks("mia", approval, "approval_approve")
    result = story.submits("ana", asked_of="customer", question=WHY)
    assert result["response_action"] == "update"
    assert title(story.form("ana")) == "Already decided"
    assert "Already approved by Mia" in shown(story.form("ana"))
    # An old picture of the card has the button still.
    value = button_value(before, "approval_ask")
    story.presses("ben", before, "approval_ask", value)
    assert title(story.form("ben")) == "Already decided"
    assert thread(story, approval)[0]["text"].startswith("✅")
    assert [e for e in story.log(approval.conversation_id) if e.data.get("role") == "staff"] == []


def test_who_may_not_decide_may_not_ask(story: SlackStory) -> None:
    approval = story.parks()
    for user, words in (("sam", "needs the role"), ("olu", "needs the role")):
        assert asks(story, user, approval)["response_action"] == "update"
        assert title(story.form(user)) == "Not allowed"
        assert words in shown(story.form(user))
    assert thread(story, approval) == []
    assert story.trail().count("decision.refused") == 2


def test_of_a_flag_only_the_agent_is_asked(story: SlackStory) -> None:
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.flag_call("0.85"))
    flag = story.newest("flag_for_fraud")
    story.clicks("mia", flag, "approval_ask")
    (choice,) = (b for b in story.form("mia")["blocks"] if b["block_id"] == "asked_of")
    assert [o["value"] for o in choice["element"]["options"]] == ["agent"]
    story.model.says("Three claims in a week.")
    assert story.submits("mia", question="What did you see?")["response_action"] == "clear"
    assert "Three claims in a week." in shown(story.card(flag))
    assert [e for e in story.log(chat) if e.data.get("role") == "staff"] == []
