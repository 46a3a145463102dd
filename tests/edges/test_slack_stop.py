"""Stop all and Lift by real clicks: who may, what stands on every picture, what runs afterwards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from agent.steps.breaker import breaker_status
from agent.steps.stop import lift, stop_all
from bot.sandbox.cast import MIA, OLU
from storage.transaction import Store
from tests.support.outside import button_value
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_sandbox import ONCALL
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

ORDERS = ["ORD-1001", "ORD-1005", "ORD-1003", "ORD-1013", "ORD-1015", "ORD-1016"]
WHY = "Double payments <!channel>"
# As Slack stores it.
SAID = "Double payments &lt;!channel&gt;"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def opens_breaker(story: SlackStory) -> dict[str, Any]:
    """Let six small refunds open the breaker and return its alert."""
    for order_id in ORDERS:
        order = story.desk.shop.order(order_id)
        assert order is not None
        story.asks_refund(story.opens_chat(order.customer_id), "5.00", order_id)
    return story.posted(ONCALL)[0]


def is_stopped(story: SlackStory) -> object:
    return breaker_status(story.desk)["stopped"]


def stops(story: SlackStory) -> dict[str, Any]:
    """Let everything be stopped from the terminal and return the alert."""
    stop_all(story.desk, story.order(boss(story), WHY))
    story.rests()
    return story.posted(ONCALL)[-1]


def boss(story: SlackStory, name: str = "boss") -> Any:
    return story.hire(name, *story.desk.policy.roles)


def approved(story: SlackStory) -> Approval:
    approval = story.parks()
    story.clicks("ana", approval, "approval_approve")
    return story.approval(approval.id)


def test_somebody_on_call_stops_everything_from_the_breakers_alert(story: SlackStory) -> None:
    alert = opens_breaker(story)
    story.presses("olu", alert, "desk_stop")
    assert title(story.form("olu")) == "Stop everything"
    assert list(story.submits("olu", reason="      ")["errors"]) == ["reason"]
    result = story.submits("olu", reason=WHY)
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert is_stopped(story) is True
    alert = story.posted(ONCALL)[-1]
    assert f"{OLU.name} stopped everything" in alert["text"]
    assert "&lt;!channel&gt;" in alert["text"]
    assert action_ids(alert) == ["alert_acknowledge", "desk_lift"]
    assert "stop.thrown" in story.trail()


def test_a_second_stop_is_told_by_whom_it_is_stopped(story: SlackStory) -> None:
    alert = opens_breaker(story)
    story.presses("mia", alert, "desk_stop")
    stops(story)
    story.presses("olu", alert, "desk_stop")
    assert title(story.form("olu")) == "Stopped already"
    assert SAID in shown(story.form("olu"))
    # A form that was open before is refused as well.
    result = story.submits("mia", reason="Double payments")
    assert result["response_action"] == "update"
    assert "Everything is stopped already." in shown(story.form("mia"))


def test_an_approver_does_not_stop_the_desk(story: SlackStory) -> None:
    story.presses("ana", opens_breaker(story), "desk_stop")
    result = story.submits("ana", reason="I am worried")
    assert result["response_action"] == "update"
    assert title(story.form("ana")) == "Not allowed"
    assert is_stopped(story) is False
    assert story.trail().count("decision.refused") == 1


def test_what_is_approved_waits_until_a_manager_lifts_the_stop(story: SlackStory) -> None:
    alert = stops(story)
    approval = approved(story)
    assert approval.status is Status.APPROVED
    assert story.paid() == []
    assert "Everything is stopped" in shown(story.card(approval))
    story.presses("mia", alert, "desk_lift")
    form = story.form("mia")
    assert title(form) == "Lift the stop"
    assert "by Boss at " in shown(form)
    assert SAID in shown(form)
    story.model.says("It is paid.")
    result = story.submits("mia", reason="The provider has mended it")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]
    over, news = story.posted(ONCALL)
    assert "✅ Everything was stopped" in shown(over)
    assert action_ids(over) == []
    for where in (over, news):
        assert f"{MIA.name} lifted the stop" in shown(where)
    assert (news["thread_ts"], news["reply_broadcast"]) == (over["ts"], True)
    assert "Everything is stopped" not in shown(story.card(approval))


def test_whoever_is_on_call_may_stop_but_not_lift(story: SlackStory) -> None:
    story.presses("olu", stops(story), "desk_lift")
    result = story.submits("olu", reason="It looks fine to me")
    assert result["response_action"] == "update"
    assert "needs the role refund_manager" in shown(story.form("olu"))
    assert is_stopped(story) is True


def test_an_old_alert_lifts_nothing_whose_reason_was_not_shown(story: SlackStory) -> None:
    alert = stops(story)
    story.presses("mia", alert, "desk_lift")
    lift(story.desk, story.order(boss(story, "other")))
    story.clock.advance(seconds=1)
    stop_all(story.desk, story.order(boss(story, "third"), "Another thing"))
    result = story.submits("mia", reason="The first thing is mended")
    assert result["response_action"] == "update"
    assert title(story.form("mia")) == "Stopped once more"
    assert "Another thing" in shown(story.form("mia"))
    assert is_stopped(story) is True
    assert story.trail().count("decision.refused") == 1


def test_what_is_lifted_is_not_lifted_again(story: SlackStory) -> None:
    alert = stops(story)
    value = button_value(alert, "desk_lift")
    story.presses("max", alert, "desk_lift")
    lift(story.desk, story.order(boss(story, "other")))
    story.rests()
    story.presses("mia", alert, "desk_lift", value)
    assert title(story.form("mia")) == "Nothing is stopped"
    result = story.submits("max", reason="It is mended")
    assert result["response_action"] == "update"
    assert "Nothing is stopped." in shown(story.form("max"))
