"""The alert of an opened breaker: what ran, who looks into it, who closes it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.steps.breaker import breaker_status
from bot.sandbox.cast import MIA, OLU
from storage.transaction import Store
from tests.support.slack_sandbox import ONCALL
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

ORDERS = ["ORD-1001", "ORD-1005", "ORD-1003", "ORD-1013", "ORD-1015", "ORD-1016"]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    """Return a desk whose breaker six small refunds have opened."""
    with slack_story(servers, tmp_path, store) as told:
        for order_id in ORDERS:
            order = told.desk.shop.order(order_id)
            assert order is not None
            told.asks_refund(told.opens_chat(order.customer_id), "5.00", order_id)
        yield told


def alerts(story: SlackStory) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = story.slack.look("/messages", channel=ONCALL)
    return [message for message in found if message["ephemeral_for"] is None]


def click(story: SlackStory, user: str, action_id: str) -> dict[str, Any]:
    body = {"user": user, "channel": ONCALL, "ts": alerts(story)[0]["ts"], "action_id": action_id}
    answer: dict[str, Any] = story.slack.act("/click", **body)
    story.rests()
    return answer


def state(story: SlackStory) -> object:
    return breaker_status(story.desk)["state"]


def test_one_alert_shows_the_five_refunds_that_ran(story: SlackStory) -> None:
    assert len(story.paid()) == 5
    (alert,) = alerts(story)
    said = json.dumps(alert["blocks"])
    assert all(order in said for order in ORDERS[:5])
    assert ORDERS[5] not in said
    assert said.count("5.00 USD") == 5
    assert said.count("cnv_") == 5
    assert "The limit is 5 in 60 seconds." in said
    (row,) = (block for block in alert["blocks"] if block["type"] == "actions")
    assert [e["action_id"] for e in row["elements"]] == [
        "breaker_acknowledge",
        "breaker_reset",
        "desk_stop",
    ]
    assert alert["text"].startswith("🚨 Refund breaker opened: 5 automatic refunds ran.")


def test_somebody_on_call_acknowledges_once(story: SlackStory) -> None:
    assert click(story, "olu", "breaker_acknowledge")["status"] == 200
    assert "looks into it" in alerts(story)[-1]["text"]
    assert alerts(story)[-1]["thread_ts"] == alerts(story)[0]["ts"]
    click(story, "mia", "breaker_acknowledge")
    assert len(alerts(story)) == 2
    assert story.whispers("mia", ONCALL)[-1] == f"{OLU.name} has acknowledged it already."


def test_the_command_says_that_refunds_are_paused_and_when_one_is_tried(
    story: SlackStory,
) -> None:
    story.slack.act("/command", user="olu", command="/refunds", text="breaker")
    assert "Automatic refunds are paused until" in story.whispers("olu")[-1]
    story.clock.advance(seconds=31)
    story.slack.act("/command", user="olu", command="/refunds", text="breaker")
    assert "as a trial" in story.whispers("olu")[-1]


def test_others_cannot_acknowledge(story: SlackStory) -> None:
    click(story, "sam", "breaker_acknowledge")
    assert "Only people on call" in story.whispers("sam", ONCALL)[-1]
    assert len(alerts(story)) == 1
    assert story.trail().count("decision.refused") == 1


def test_a_manager_resets_with_a_reason_and_everybody_reads_it(story: SlackStory) -> None:
    click(story, "mia", "breaker_reset")
    result = story.submits("mia", reason="Campaign, all are genuine")
    assert result["response_action"] == "clear"
    assert state(story) == "closed"
    assert f"{MIA.name} reset the refund breaker. Reason: Campaign" in alerts(story)[-1]["text"]


def test_a_reset_without_the_role_is_refused_in_the_form(story: SlackStory) -> None:
    click(story, "olu", "breaker_reset")
    result = story.submits("olu", reason="I want it closed")
    assert result["response_action"] == "update"
    assert "refund_manager" in json.dumps(story.form("olu")["blocks"])
    assert state(story) == "open"


def test_a_reset_needs_a_reason(story: SlackStory) -> None:
    click(story, "mia", "breaker_reset")
    result = story.submits("mia", reason="       ")
    assert list(result["errors"]) == ["reason"]
    assert state(story) == "open"


def test_an_old_alert_does_not_reset_a_breaker_that_is_closed(story: SlackStory) -> None:
    click(story, "mia", "breaker_reset")
    story.submits("mia", reason="All are genuine")
    click(story, "mia", "breaker_reset")
    result = story.submits("mia", reason="Once more, please")
    assert result["response_action"] == "update"
    assert "has been closed since" in json.dumps(story.form("mia")["blocks"])
    assert story.trail().count("breaker.reset") == 1
