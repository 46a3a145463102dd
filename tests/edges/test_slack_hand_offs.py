"""A person takes over, by real clicks, forms and commands: Slack, the chat, and back."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.domain.ids import ConversationId
from bot.sandbox.cast import ANA, SAM
from storage import cards
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.drawn import flowing
from tests.support.slack_looks import action_ids, shown
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
