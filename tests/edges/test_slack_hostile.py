"""Hostile text through the whole desk into the stand-in, which refuses what Slack refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from agent.domain.approvals import Status
from storage.transaction import Store
from tests.support.drawn import UNSEEN, objects
from tests.support.hostile import LONG, SHORT
from tests.support.slack_sandbox import APPROVALS
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

NASTY = f"NASTY {' '.join(SHORT.values())}"[:900]
LENGTHY = f"NASTY {LONG['ampersands'][:800]}"
# An address line and the signals of a flag are one line without control characters.
ONE_LINE = "NASTY <!channel> *bold* `code` <https://evil.example|Approve> :tada: שלום \u0336 &amp;"
CLARA = "clara.nguyen@example.com"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def refund(story: SlackStory, amount: str, words: str) -> tuple[str, str, str]:
    """Return a call of the model that gives a hostile reason."""
    call_id, name, raw = story.refund_call(amount)
    return call_id, name, json.dumps({**json.loads(raw), "reason": words[:900]})


def messages(story: SlackStory) -> list[dict[str, Any]]:
    """Return everything that stands in any channel."""
    channels = [channel.id for channel in story.slack.config.channels]
    return [m for channel in channels for m in story.slack.look("/messages", channel=channel)]


@pytest.mark.parametrize("words", [NASTY, LENGTHY], ids=["nasty", "lengthy"])
def test_every_message_arrives_and_nothing_in_it_is_markup_of_others(
    story: SlackStory, words: str
) -> None:
    story.happens("UPDATE customers SET name = :name WHERE id = 'cus_clara'", name=words[:120])
    story.happens("UPDATE actors SET name = :name WHERE name LIKE 'Ana%'", name=words[:120])
    chat = story.opens_chat("cus_clara")
    for _ in range(2):
        story.model.says(words)
        story.says(chat, words * 3)
    story.proposes(chat, refund(story, "160.00", words))
    rejected = story.only(Status.PENDING)
    story.clicks("ana", rejected, "approval_review")
    story.presses_inside("ana", "approval_reject")
    story.model.says(words)
    answer = story.submits("ana", category="other", reason=words, note=words)
    assert answer["problem"] is None

    story.proposes(chat, refund(story, "150.00", words))
    edited = story.only(Status.PENDING)
    story.clicks("ana", edited, "approval_review")
    story.presses_inside("ana", "approval_edit")
    story.types("ana", "amount", amount="140.00", reason=words)
    story.model.says(words)
    assert story.submits("ana", amount="140.00", reason=words)["problem"] is None

    letter = {"subject": ONE_LINE, "body": f"{ONE_LINE}\n\n{LONG['ampersands']}"}
    story.proposes(chat, story.email_call(to=[CLARA], **letter))
    story.proposes(chat, story.flag_call("0.95", signals=[ONE_LINE, ONE_LINE[:40]]))
    waiting = story.all(Status.PENDING)
    assert {row.tool for row in waiting} == {"send_email", "flag_for_fraud"}
    for row in waiting:
        story.clicks("mia", row, "approval_review")
        for page in ("details_conversation", "details_history", "details_request"):
            story.presses_inside("mia", page)
        story.model.says(words)
        assert story.submits("mia")["problem"] is None
    assert story.all(Status.PENDING) == ()

    with story.desk.store.transaction(write=False) as tx:
        left = tx.all(text("SELECT kind, attempts FROM outbox WHERE lane = 'slack'"))
    assert left == []
    posted = messages(story)
    assert len(posted) >= 10
    for message in posted:
        assert "<!" not in message["text"]
        for one in objects(message["blocks"]):
            if one.get("type") == "mrkdwn":
                assert "NASTY" not in one["text"]
            shown = one.get("text")
            assert not isinstance(shown, str) or not any(char in shown for char in UNSEEN)
    assert any("NASTY" in json.dumps(m["blocks"]) for m in posted if m["channel"] == APPROVALS)
