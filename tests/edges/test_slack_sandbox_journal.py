"""What the stand-in knows survives its process."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from slack_sdk.webhook import WebhookClient

from bot.sandbox.cast import ANA, BEN
from bot.sandbox.slack_journal import Journal, JournalDamaged
from tests.support.slack_sandbox import (
    APPROVALS,
    Bot,
    Slack,
    Stage,
    running_slack,
    running_stage,
)

MODAL = {"type": "modal", "title": {"type": "plain_text", "text": "Edit"}, "blocks": []}


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "on the way" / "slack.jsonl"


def test_what_is_written_is_there_before_the_file_is_closed(path: Path) -> None:
    first = Journal(path)
    first.write(("messages", "a", {"text": "é"}), ("messages", "b", {"text": "2"}))
    first.write(("messages", "a", {"text": "3"}))
    first.write(("messages", "b", None), ("homes", "u", {}))
    second = Journal(path)
    assert second.table("messages") == first.table("messages") == {"a": {"text": "3"}}
    assert second.table("homes") == {"u": {}}
    assert second.table("views") == {}
    assert second.version == first.version == 3
    first.close()
    second.close()


@pytest.mark.parametrize("torn", [b"[", b'[["messages","b",{"text"', b'[["messages","b",{}]]'])
def test_a_line_that_was_being_written_is_cut_off(path: Path, torn: bytes) -> None:
    journal = Journal(path)
    journal.write(("messages", "a", {}))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    reopened = Journal(path)
    assert (reopened.table("messages"), reopened.version) == ({"a": {}}, 1)
    assert path.read_bytes() == whole
    reopened.write(("messages", "c", {}))
    reopened.close()
    again = Journal(path)
    assert list(again.table("messages")) == ["a", "c"]
    again.close()


@pytest.mark.parametrize("line", ["{", "7", "[1]", '[["messages"]]'])
def test_a_damaged_line_is_named(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f'[["messages","a",{{}}]]\n{line}\n')
    with pytest.raises(JournalDamaged, match=r"slack\.jsonl, line 2"):
        Journal(path)


def test_nobody_waits_for_longer_than_asked(path: Path) -> None:
    journal = Journal(path)
    assert asyncio.run(journal.changed(0, 0.001)) == 0
    assert asyncio.run(journal.changed(-1, 25)) == 0
    journal.close()


def _posted(slack: Slack) -> list[str]:
    return [message["ts"] for message in slack.look("/messages", channel=APPROVALS)]


def test_a_restart_forgets_nothing_that_was_posted(stage: Stage, tmp_path: Path) -> None:
    metadata = {"event_type": "approval", "event_payload": {"outbox_id": "obx_1"}}
    with running_slack(stage, tmp_path) as slack:
        ts = slack.post(text="card", metadata=metadata)
        slack.client.chat_postEphemeral(channel=APPROVALS, user=ANA.slack_user_id, text="x")
        deleted = slack.post()
        slack.client.chat_delete(channel=APPROVALS, ts=deleted)
        slack.client.views_publish(user_id=ANA.slack_user_id, view={"type": "home", "blocks": []})
        before = (slack.look("/messages", channel=APPROVALS), slack.look("/home", user="ana"))
        version = slack.look("/changes", wait="0")["version"]
    with running_slack(stage, tmp_path) as slack:
        after = (slack.look("/messages", channel=APPROVALS), slack.look("/home", user="ana"))
        assert after == before
        assert slack.look("/changes", wait="0")["version"] == version
        slack.client.chat_update(channel=APPROVALS, ts=ts, text="done")
        history = slack.client.conversations_history(channel=APPROVALS, include_all_metadata=True)
        (message,) = history["messages"]
        assert (message["text"], message["metadata"]) == ("done", metadata)


def test_timestamps_increase_over_a_restart_and_a_clock_set_back(
    stage: Stage, tmp_path: Path
) -> None:
    with running_slack(stage, tmp_path) as slack:
        slack.post()
        slack.post()
    with running_slack(stage, tmp_path) as slack:
        slack.clock.at -= timedelta(hours=1)
        slack.post()
        timestamps = _posted(slack)
        assert timestamps == sorted(set(timestamps))
        assert len(timestamps) == 3


def test_an_open_modal_and_its_response_url_live_on(stage: Stage, tmp_path: Path) -> None:
    bot = Bot()
    with running_stage() as bot_stage:
        bot_stage.app = bot.app()
        url = f"{bot_stage.url}/slack/events"
        with running_slack(stage, tmp_path, url) as slack:
            body = {"user": "ana", "channel": APPROVALS, "action_id": "edit"}
            slack.act("/click", **body, ts=slack.post())
            clicked = bot.payload
            opened = slack.client.views_open(trigger_id=clicked["trigger_id"], view=MODAL)["view"]
            slack.act("/click", **body, ts=slack.post())
            unused = bot.payload["trigger_id"]
        with running_slack(stage, tmp_path, url) as slack:
            assert slack.look("/views", user="ana") == [opened]
            code = slack.error_code("views.open", trigger_id=unused, view=MODAL)
            assert code == "invalid_trigger_id"
            assert WebhookClient(clicked["response_url"]).send(text="x").status_code == 200
            answer = slack.act("/submit", user="ana", view_id=opened["id"])
            assert (answer["status"], slack.look("/views", user="ana")) == (200, [])
        with running_slack(stage, tmp_path, url, people=(BEN,)):
            # Whom it was for is not in the workspace any more.
            assert WebhookClient(clicked["response_url"]).send(text="x").status_code == 404


def test_secrets_are_not_in_the_journal(stage: Stage, tmp_path: Path) -> None:
    with running_slack(stage, tmp_path) as slack:
        slack.post()
        text = slack.config.journal.read_text()
        assert [len(json.loads(line)) for line in text.splitlines()] == [1]
        for secret in (slack.config.bot_token, slack.config.signing_secret):
            assert secret not in text
            assert secret not in repr(slack.config)
