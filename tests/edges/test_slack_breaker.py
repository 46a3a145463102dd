"""The alert of an opened breaker: what ran, who looks into it, who closes it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.steps.breaker import breaker_status
from bot.sandbox.cast import MIA, OLU
from storage.transaction import Store
from tests.support.outside import button_value
from tests.support.slack_looks import action_ids, shown, title
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
        "alert_acknowledge",
        "breaker_reset",
        "desk_stop",
    ]
    assert alert["text"] == (
        "🚨 Refund breaker opened. Automatic refunds are paused: too many automatic refunds."
    )


def test_somebody_on_call_acknowledges_once(story: SlackStory) -> None:
    (opened,) = alerts(story)
    value = button_value(opened, "alert_acknowledge")
    assert click(story, "olu", "alert_acknowledge")["status"] == 200
    (seen,) = alerts(story)
    assert "Looked into by" in shown(seen)
    assert OLU.name in shown(seen)
    assert action_ids(seen) == ["breaker_reset", "desk_stop"]
    assert story.whispers("olu", ONCALL)[-1].startswith("Thank you.")
    story.presses("mia", opened, "alert_acknowledge", value)
    assert len(alerts(story)) == 1
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
    click(story, "sam", "alert_acknowledge")
    assert "Only people on call" in story.whispers("sam", ONCALL)[-1]
    assert len(alerts(story)) == 1
    assert story.trail().count("decision.refused") == 1


def test_a_manager_resets_with_a_reason_and_everybody_reads_it(story: SlackStory) -> None:
    click(story, "mia", "breaker_reset")
    result = story.submits("mia", reason="Campaign, all are genuine")
    assert result["response_action"] == "clear"
    assert state(story) == "closed"
    closed, news = alerts(story)
    assert "✅ Refund breaker was open" in shown(closed)
    assert action_ids(closed) == []
    for where in (closed, news):
        assert f"{MIA.name} reset it. Reason: Campaign" in shown(where)
    assert (news["thread_ts"], news["reply_broadcast"]) == (closed["ts"], True)


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
    (old,) = alerts(story)
    click(story, "mia", "breaker_reset")
    click(story, "max", "breaker_reset")
    story.submits("mia", reason="All are genuine")
    # A form that was open before is refused, and so is a button that somebody still sees.
    result = story.submits("max", reason="Once more, please")
    assert result["response_action"] == "update"
    assert "The breaker is closed." in shown(story.form("max"))
    update(story, old)
    story.presses("mia", old, "breaker_reset")
    assert title(story.form("mia")) == "Already closed"
    assert action_ids(alerts(story)[0]) == []
    assert story.trail().count("breaker.reset") == 1


def update(story: SlackStory, old: dict[str, Any]) -> None:
    """Let the message look as it did before, as somebody's screen may."""
    client = story.slack.client
    client.chat_update(channel=ONCALL, ts=old["ts"], blocks=old["blocks"], text=old["text"])
