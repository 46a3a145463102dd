"""The Home tab by real events and clicks: whose it is, what is in it, and that it stays true."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.domain.approvals import Status
from agent.domain.roles import Identity, Role
from agent.steps.stop import stop_all
from bot.sandbox.block_limits import VIEW_BLOCKS
from bot.sandbox.cast import ANA, PEOPLE
from bot.sandbox.slack_delivery import JSON
from bot.slack.home import ROWS
from bot.slack.homes import HomeWatch
from bot.slack.targets import TurnTarget
from storage import homes, people
from storage.transaction import Store
from tests.support.crowd import crowd
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

ALWAYS = timedelta()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


# Only what is kept about open tabs depends on the kind of database.
on_one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def heading(home: dict[str, Any]) -> str:
    return str(home["blocks"][0]["text"]["text"])


def watch(story: SlackStory) -> HomeWatch:
    return HomeWatch(story.desk, ALWAYS)


def row_buttons(home: dict[str, Any]) -> list[str]:
    """Return the names of the buttons beside the rows, in their order."""
    sections = [block for block in home["blocks"] if block["type"] == "section"]
    return [block["accessory"]["action_id"] for block in sections if "accessory" in block]


# --- what is in it


@on_one_database
def test_a_tab_shows_its_readers_queue_and_a_row_is_decided_from_it(story: SlackStory) -> None:
    chair = story.parks()
    story.parks("2340.00", "ORD-1004")
    story.parks("689.00", "ORD-1005")
    home = story.opens_home("ana")
    assert heading(home) == "2 requests wait for you"
    told = shown(home)
    assert "Refund of 160.00 USD" in told
    assert "ORD-1001 · Clara N." in told
    assert "160.00 USD is over the automatic limit of 50.00 USD" in told
    assert "0 of 1 approvals · one refund approver" in told
    assert "0 of 2 approvals · 2 people, at least one refund manager" in told
    assert "1 more for other people · you decided nothing today" in told
    assert "ORD-1005" not in told
    # Whoever reads sees the deadline, and how long it has waited, by their own clock.
    dates = [
        part["format"]
        for block in home["blocks"]
        if block["type"] == "rich_text"
        for part in block["elements"][0]["elements"]
        if part["type"] == "date"
    ]
    assert dates[:2] == ["{date_short_pretty}, {time}", "{ago}"]
    assert row_buttons(home) == ["approval_review.0", "approval_review.1"]
    assert heading(story.opens_home("mia")) == "3 requests wait for you"
    story.presses_home("ana", "approval_review.0")
    assert title(story.form("ana")) == "Review refund"
    story.model.says("It is paid.")
    story.submits("ana")
    assert story.approval(chair.id).status is Status.EXECUTED


@on_one_database
def test_a_day_stands_below_the_queue_with_its_outcomes(story: SlackStory) -> None:
    chair, kettle = story.parks(), story.parks("129.00", "ORD-1008")
    story.model.says("It is paid.")
    story.clicks("ana", chair, "approval_approve")
    story.clicks("ana", kettle, "approval_reject")
    story.model.says("Sorry.")
    story.submits("ana", category="not_eligible", reason="Out of the window")
    home = story.opens_home("ana")
    told = shown(home)
    assert heading(home) == "Nothing waits for you"
    assert "Nothing for others · you decided 2 today" in told
    assert told.index("You rejected it · 🚫 Rejected") < told.index(
        "You approved it · ✅ Approved and paid"
    )
    story.presses_home("ana", "approval_review.20")
    assert title(story.form("ana")) == "Refund"


@on_one_database
def test_who_may_not_look_is_told_which_of_the_reasons_it_is(story: SlackStory) -> None:
    story.parks()
    home = story.opens_home("gus")
    assert "You have no role at this desk" in shown(home)
    assert "ORD-1001" not in shown(home)
    with story.desk.store.transaction(write=False) as tx:
        assert homes.open_since(tx, story.clock.now()) == ()
    story.opens_home("ana")
    story.clock.advance(seconds=61)
    watch(story).refresh()
    story.rests()
    told = shown(story.home("ana"))
    assert "could not be verified" in told
    assert "ORD-1001" not in told
    story.syncs()
    watch(story).refresh()
    story.rests()
    assert heading(story.home("ana")) == "1 request waits for you"


@on_one_database
def test_a_guest_in_a_user_group_is_turned_away(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    guest = replace(ANA, is_restricted=True)
    cast = tuple(guest if person is ANA else person for person in PEOPLE)
    with slack_story(servers, tmp_path, store, people=cast) as story:
        story.parks()
        told = shown(story.opens_home("ana"))
        assert "Guests and accounts that are switched off" in told
        assert "ORD-1001" not in told
        assert "Guests and accounts" in story.commands("ana", "pending")["text"]


# --- the switches


@on_one_database
def test_only_those_who_may_see_the_switches_and_the_tab_follows_them(story: SlackStory) -> None:
    assert "desk_stop" not in action_ids(story.opens_home("ana"))
    assert "Automatic refunds run." in shown(story.opens_home("olu"))
    story.presses_home("olu", "desk_stop")
    story.submits("olu", reason="Double payments <!channel>")
    watch(story).refresh()
    story.rests()
    home = story.home("olu")
    told = shown(home)
    assert "Everything is stopped, by Olu Bankole" in told
    # As it was typed, in a carrier where nothing is markup.
    assert ": Double payments <!channel>" in told
    assert {"desk_stop", "desk_lift"}.isdisjoint(action_ids(home))
    assert "desk_lift" in action_ids(story.opens_home("mia"))
    story.presses_home("mia", "desk_lift")
    assert story.submits("mia", reason="It is mended")["response_action"] == "clear"
    watch(story).refresh()
    story.rests()
    assert "Automatic refunds run." in shown(story.home("olu"))


@on_one_database
def test_an_opened_breaker_is_reset_from_the_tab(story: SlackStory) -> None:
    for order in ("ORD-1001", "ORD-1005", "ORD-1003", "ORD-1013", "ORD-1015", "ORD-1016"):
        owner = story.desk.shop.order(order)
        assert owner is not None
        story.asks_refund(story.opens_chat(owner.customer_id), "5.00", order)
    home = story.opens_home("mia")
    assert "Automatic refunds are paused until " in shown(home).replace(
        'paused "', 'paused until "'
    )
    assert "breaker_reset" in action_ids(home)
    story.presses_home("mia", "breaker_reset")
    assert story.submits("mia", reason="All are genuine")["response_action"] == "clear"
    watch(story).refresh()
    story.rests()
    assert "Automatic refunds run." in shown(story.home("mia"))


# --- long queues


@on_one_database
def test_five_hundred_requests_are_turned_page_by_page(story: SlackStory) -> None:
    first = story.parks()
    crowd(story, first, 499)
    home = story.opens_home("mia")
    assert heading(home) == "500 requests wait for you"
    assert "home_back" not in action_ids(home)
    seen: list[str] = []
    for page in range(3):
        home = story.home("mia")
        assert len(home["blocks"]) <= VIEW_BLOCKS
        assert f"{page * ROWS + 1} to {(page + 1) * ROWS} of 500." in shown(home)
        seen += [b["block_id"] for b in home["blocks"] if b["block_id"].startswith("row:")]
        story.presses_home("mia", "home_on")
    assert len(set(seen)) == 3 * ROWS
    # Beyond the end is the end: the queue has become shorter since.
    story.presses_home("mia", "home_on", TurnTarget(page=99).text())
    home = story.home("mia")
    assert "481 to 500 of 500." in shown(home)
    assert "home_on" not in action_ids(home)
    story.presses_home("mia", "home_back")
    assert "461 to 480 of 500. 20 more." in shown(story.home("mia"))
    # To open the tab is to begin with what is most urgent.
    assert "1 to 20 of 500." in shown(story.opens_home("mia"))


@on_one_database
def test_more_than_is_read_at_once_is_told(story: SlackStory) -> None:
    crowd(story, story.parks(), 1_009)
    home = story.opens_home("ana")
    assert heading(home) == "1,000 requests wait for you"
    assert "10 more, less urgent, not counted here" in shown(home)


# --- it stays true


def test_a_tab_is_drawn_anew_when_somebody_else_decides_and_once_over_all_replicas(
    story: SlackStory,
) -> None:
    chair = story.parks()
    story.opens_home("ana")
    story.opens_home("ben")
    one, other = watch(story), watch(story)
    assert [one.refresh(), other.refresh()] == [False, False]
    stamp = story.home("ben")["hash"]
    story.model.says("It is paid.")
    story.clicks("ana", chair, "approval_approve")
    assert one.refresh() is True
    # The other notices, too, and finds it on its way.
    assert other.refresh() is False
    assert story.delivers() == 2
    assert heading(story.home("ben")) == "Nothing waits for you"
    assert "You approved it" in shown(story.home("ana"))
    assert story.home("ben")["hash"] != stamp
    assert [one.refresh(), other.refresh(), story.delivers()] == [False, False, 0]
    # News that leave the picture as it is are published to nobody.
    story.hire("new", Role.ONCALL)
    assert [one.refresh(), story.delivers()] == [False, 0]


@on_one_database
def test_while_slack_is_down_nothing_is_lost_and_the_newest_is_shown_afterwards(
    story: SlackStory,
) -> None:
    story.parks()
    # Slack waits for no more than that the desk knows of the opening.
    story.slack.act("/faults", 204, method="views.publish", error="internal_error", times=2)
    assert story.slack.act("/home", user="ana")["status"] == 200
    story.delivers()
    assert story.home("ana")["blocks"] == []
    eyes = watch(story)
    for amount, order in (("129.00", "ORD-1008"), ("80.00", "ORD-1006")):
        story.parks(amount, order)
        assert eyes.refresh() is False, "it is on its way already"
    story.clock.advance(minutes=1)
    story.syncs()
    story.delivers()
    assert story.home("ana")["blocks"] == []
    story.clock.advance(minutes=1)
    story.syncs()
    assert story.delivers() > 0
    assert heading(story.home("ana")) == "3 requests wait for you"
    assert [eyes.refresh(), story.delivers()] == [False, 0]


@on_one_database
def test_a_tab_that_slack_refuses_is_replaced_or_given_up(story: SlackStory) -> None:
    story.parks()
    story.slack.act("/faults", 204, method="views.publish", error="invalid_blocks", times=1)
    assert "This tab cannot be shown here" in shown(story.opens_home("ana"))
    story.slack.act("/faults", 204, method="views.publish", error="user_not_found", times=1)
    story.slack.act("/home", user="ben")
    assert [story.delivers(), story.delivers()] == [1, 0]
    with story.desk.store.transaction(write=False) as tx:
        kept = [tab.subject for tab in homes.open_since(tx, story.clock.now())]
    assert [subject.partition(":")[2] for subject in kept] == ["U07ANARIBEI"]


@on_one_database
def test_a_tab_that_nobody_has_opened_for_long_is_let_be(story: SlackStory) -> None:
    story.opens_home("ana")
    eyes = watch(story)
    story.clock.advance(hours=8, seconds=1)
    story.syncs()
    story.parks()
    assert eyes.refresh() is False
    story.opens_home("ben")
    with story.desk.store.transaction(write=False) as tx:
        assert homes.get(tx, "T07SHOPSTRM:U07ANARIBEI") is None
    # A reader's own button is an opening, too.
    story.presses_home("ana", "home_refresh")
    assert heading(story.home("ana")) == "1 request waits for you"


@on_one_database
def test_a_burst_of_clicks_is_one_look(story: SlackStory) -> None:
    story.opens_home("ana")
    eyes = HomeWatch(story.desk)
    assert eyes.refresh() is False
    story.parks()
    assert eyes.refresh() is False
    story.clock.advance(seconds=0.5)
    assert eyes.refresh() is True


@on_one_database
def test_an_event_that_is_not_the_home_tab_or_not_ours_publishes_nothing(
    story: SlackStory,
) -> None:
    def event(number: int, team: str, tab: str) -> dict[str, Any]:
        return {
            "type": "event_callback",
            "event_id": f"Ev{number}",
            "team_id": team,
            "event": {"type": "app_home_opened", "user": "U07ANARIBEI", "tab": tab},
        }

    for number, (team, tab) in enumerate((("T07SHOPSTRM", "messages"), ("T1", "home"))):
        body = json.dumps(event(number, team, tab)).encode()
        assert story.sends(body, JSON).status_code == 200
    assert story.delivers() == 0


@on_one_database
def test_a_tab_of_somebody_whose_role_was_taken_shows_nothing_any_more(story: SlackStory) -> None:
    story.parks()
    boss = story.hire("boss", *Role)
    stop_all(story.desk, story.order(boss))
    story.opens_home("ana")
    with story.desk.store.transaction() as tx:
        actor = people.find(tx, Identity("slack", "T07SHOPSTRM:U07ANARIBEI"))
        assert actor is not None
        people.take(tx, actor.id, Role.REFUND_APPROVER, "slack:refund-approvers")
    assert watch(story).refresh() is True
    story.rests()
    assert "You have no role" in shown(story.home("ana"))
