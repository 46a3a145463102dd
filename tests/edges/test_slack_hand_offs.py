"""A person takes over, by real clicks, forms and commands: Slack, the chat, and back."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from agent.domain.ids import ConversationId
from agent.steps.rate import rate
from agent.steps.receive import receive
from bot.sandbox.cast import ANA, SAM
from bot.sandbox.slack_delivery import FORM
from storage import cards
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.drawn import flowing, texts
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_sandbox import APPROVALS
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def store(sqlite_template: Path, tmp_path: Path) -> Iterator[Store]:
    """Yield one database: the rules are shown on both in tests/story/test_hand_off.py."""
    path = tmp_path / "desk.db"
    shutil.copyfile(sqlite_template, path)
    store = Store(open_engine(f"sqlite:///{path}"))
    yield store
    store.close()


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        told.model.otherwise = "A colleague will look at it."
        yield told


def needs_a_person(story: SlackStory) -> ConversationId:
    """Let Clara ask for a person."""
    chat = story.opens_chat("cus_clara")
    story.model.calls(("call_h", "hand_off", '{"reason": "asks for a person"}'))
    story.says(chat, "I want to talk to a person, my number is +1 555 010 7788")
    return chat


def root(story: SlackStory, chat: ConversationId, number: int = 1) -> dict[str, Any]:
    """Return the message that called people, as Slack has it."""
    subject = f"hand_off:{chat}" + ("" if number == 1 else f":{number}")
    with story.desk.store.transaction(write=False) as tx:
        known = {ref.ts for ref in cards.of_subject(tx, subject)}
    (found,) = (m for m in story.posted(APPROVALS) if m["ts"] in known)
    return found


def thread(story: SlackStory, chat: ConversationId, number: int = 1) -> list[str]:
    """Return the lines of the thread as they are read, oldest first."""
    ts = root(story, chat, number)["ts"]
    return [m["text"] for m in story.posted(APPROVALS) if m["thread_ts"] == ts]


def staff_words(story: SlackStory, chat: ConversationId) -> list[tuple[object, object]]:
    """Return what people wrote to the customer, and who."""
    return [
        (e.data["by"], e.data["text"]) for e in story.log(chat) if e.data.get("role") == "staff"
    ]


def types(story: SlackStory, user: str, text: str) -> str:
    """Let a person type the command, and return what they read."""
    answer = story.slack.act("/command", user=user, command="/refunds", text=text)
    story.rests()
    body = answer["body"]
    return str(json.loads(body)["text"] if isinstance(body, str) else body["text"])


def test_sam_answers_clara_and_gives_her_back(story: SlackStory) -> None:
    chat = needs_a_person(story)
    message = root(story, chat)
    assert "Clara N." in shown(message)
    assert "010 7788" not in shown(message)
    assert "hand_off_reply" in action_ids(message)
    assert "hand_off_give_back" not in action_ids(message)
    # The agent's word on it is in the thread already.
    assert thread(story, chat) == ["The agent: A colleague will look at it."]
    story.presses("sam", message, "hand_off_reply")
    form = story.form("sam")
    assert "I want to talk to a person" in shown(form)
    assert story.submits("sam", text="Hello Clara, Sam here.")["response_action"] == "clear"
    assert staff_words(story, chat) == [(SAM.name, "Hello Clara, Sam here.")]
    assert f"{SAM.name} answers since" in flowing(root(story, chat)["blocks"])
    asked = len(story.model.asked)
    story.says(chat, "Thanks! Where is my chair?")
    assert len(story.model.asked) == asked
    tail = chat[-6:]
    assert types(story, "ana", f"reply {tail.lower()} It is  on its way.\nReally.").startswith(
        "Sent"
    )
    assert staff_words(story, chat)[1] == (ANA.name, "It is  on its way.\nReally.")
    assert thread(story, chat)[1:] == [
        f"{SAM.name} answers here now.",
        f"{SAM.name}: Hello Clara, Sam here.",
        "Clara N.: Thanks! Where is my chair?",
        f"{ANA.name}: It is  on its way.\nReally.",
    ]
    assert f"{SAM.name} answers since" in flowing(root(story, chat)["blocks"])
    story.presses("ana", root(story, chat), "hand_off_give_back")
    assert action_ids(root(story, chat)) == ["hand_off_details"]
    story.says(chat, "Anything else?")
    told = [m.content for m in story.model.asked[-1].messages]
    assert any("Hello Clara, Sam here." in words for words in told)
    assert "Thanks! Where is my chair?" in told


HOSTILE = "<!channel> <https://evil.example|ok> \u202e\u200b `*_~ :x:"
# The same as people read it: nothing is hidden and nothing is markup.
SEEN = HOSTILE.replace("\u202e\u200b", r"\u202e\u200b")


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def test_who_may_not_answer_reads_why_and_keeps_what_they_typed(story: SlackStory) -> None:
    chat = needs_a_person(story)
    message = root(story, chat)
    for action_id in ("hand_off_reply", "hand_off_join", "hand_off_details"):
        story.presses("gus", message, action_id)
    only = "Only people with a role at this desk answer customers."
    assert story.whispers("gus") == [only] * 3
    assert story.forms("gus") == 0
    assert types(story, "gus", f"reply {chat} Dear Clara") == only
    assert "Dear Clara" in flowing_of_last(story)
    assert "There is no such conversation" in types(story, "sam", "reply AAAAAA Dear Clara")
    assert types(story, "sam", f"reply {chat}").startswith("/refunds pending")
    story.presses("sam", message, "hand_off_reply")
    assert "can be read" in story.submits("sam", text=" \u200b ")["errors"]["text"]
    assert staff_words(story, chat) == []
    # Slack's own refusal of a stranger's form that was open before they lost the role.
    story.slack.act("/groups", 204, group="support-agents", members=[])
    story.syncs()
    assert story.submits("sam", text="Hello!")["errors"]["text"] == only
    assert story.trail().count("staff.said") == 0
    assert story.trail().count("decision.refused") == 7


def flowing_of_last(story: SlackStory) -> str:
    """Return what the newest message says that one person alone reads."""
    found = story.slack.look("/messages", channel=APPROVALS)
    return flowing([m["blocks"] for m in found if m["ephemeral_for"] is not None][-1]) or str(
        texts([m["blocks"] for m in found if m["ephemeral_for"] is not None][-1], "plain_text")
    )


def test_a_form_that_is_sent_twice_is_one_message(story: SlackStory) -> None:
    chat = needs_a_person(story)
    story.presses("sam", root(story, chat), "hand_off_reply")
    form = story.form("sam")
    view = {
        "type": "modal",
        "id": form["id"],
        "hash": form["hash"],
        "callback_id": "reply_form",
        "private_metadata": form["private_metadata"],
        "state": {"values": {"text": {"value": {"value": "Hello & <b>welcome</b>"}}}},
    }
    team = "T07SHOPSTRM"
    for trigger in ("1.a", "1.a", "1.b"):
        payload = {
            "type": "view_submission",
            "user": {"id": SAM.slack_user_id, "team_id": team},
            "team": {"id": team},
            "trigger_id": trigger,
            "view": view,
        }
        body = urlencode({"payload": json.dumps(payload)}).encode()
        answer = story.sends(body, FORM)
        assert (answer.status_code, answer.json()) == (200, {"response_action": "clear"})
    typed = {
        "command": "/refunds",
        "text": f"reply {chat} Ask &lt;@{ANA.slack_user_id}|ana&gt; or <@U1|ana> at <https://a.b>",
        "user_id": ANA.slack_user_id,
        "team_id": team,
        "channel_id": APPROVALS,
        "trigger_id": "2.a",
    }
    answers = [story.sends(urlencode(typed).encode(), FORM).text for _ in range(2)]
    assert answers[0] == answers[1]
    story.rests()
    assert staff_words(story, chat) == [
        (SAM.name, "Hello & <b>welcome</b>"),
        (ANA.name, f"Ask <@{ANA.slack_user_id}|ana> or @ana at https://a.b"),
    ]


def test_what_the_customer_writes_while_slack_is_down_comes_once_and_in_order(
    story: SlackStory,
) -> None:
    chat = needs_a_person(story)
    story.presses("sam", root(story, chat), "hand_off_join")
    before = thread(story, chat)
    fault = {"method": "chat.postMessage", "status": 503}
    story.slack.act("/faults", 204, **fault, times=1, landed=True)
    story.slack.act("/faults", 204, **fault, times=3)
    for number in range(4):
        receive(story.desk, chat, f"c{number}", f"{number}: {HOSTILE}")
        story.rests()
    for _ in range(8):
        story.clock.advance(seconds=30)
        story.rests()
    lines = [unescaped(line) for line in thread(story, chat)[len(before) :]]
    assert lines == [f"Clara N.: {number}: {SEEN}" for number in range(4)]
    last = [m for m in story.posted(APPROVALS) if m["thread_ts"] is not None][-1]
    assert f"3: {SEEN}" in [unescaped(text) for text in texts(last["blocks"], "text")]
    assert texts(last["blocks"], "mrkdwn") == []


def test_lists_details_and_ratings_are_drawn(story: SlackStory) -> None:
    chat = needs_a_person(story)
    for number in range(60):
        receive(story.desk, chat, f"c{number}", f"line {number} of 1 Main Street")
    story.rests()
    answer = story.commands("sam", "handoffs")
    assert "1 with a person or waiting for one." in answer["text"]
    assert chat[-6:] in flowing(answer["blocks"])
    story.presses("sam", answer, "hand_off_reply.0")
    assert title(story.form("sam")) == "Reply"
    home = story.opens_home("olu")
    assert "show_hand_offs" in action_ids(home)
    story.presses_home("olu", "show_hand_offs")
    assert "Waiting since" in flowing(story.form("olu")["blocks"])
    message = root(story, chat)
    story.presses("ana", message, "hand_off_details")
    first = story.form("ana")
    assert "+1 555 010 7788" in shown(first)
    assert story.trail().count("conversation.shown") == 1
    story.presses_inside("ana", "hand_off_details.1")
    assert "line 45 of 1 Main Street" in shown(story.form("ana"))
    story.presses_inside("ana", "hand_off_details.0")
    assert flowing(story.form("ana")["blocks"]) == flowing(first["blocks"])
    rate(story.desk, chat, 2)
    story.rests()
    assert "The customer rated the help: ★★☆☆☆ 2 of 5" in flowing(root(story, chat)["blocks"])
    # A message that is gone is posted anew, for as long as somebody waits.
    story.slack.client.chat_delete(channel=message["channel"], ts=message["ts"])
    story.presses("sam", answer, "hand_off_reply.0")
    story.submits("sam", text="Here I am.")
    assert root(story, chat)["ts"] != message["ts"]
    assert thread(story, chat)[-1] == f"{SAM.name}: Here I am."
