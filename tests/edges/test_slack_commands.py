"""`/refunds` and the buttons that show the same: read strictly, answered to the asking person."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.ids import ApprovalId
from bot.sandbox.cast import MIA
from bot.slack.commands import (
    BreakerState,
    Command,
    Help,
    Mine,
    Pending,
    Reply,
    Show,
    Stats,
    read_command,
)
from storage.transaction import Store
from tests.support.crowd import crowd
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_sandbox import APPROVALS
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

# What is tried here does not depend on the kind of database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def rows(view: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the buttons beside the rows of a message or a modal, in their order."""
    found = [block for block in view["blocks"] if block["type"] == "section"]
    return [block["accessory"] for block in found if "accessory" in block]


def breaks(story: SlackStory) -> None:
    """Let six small refunds open the breaker."""
    for order in ("ORD-1001", "ORD-1005", "ORD-1003", "ORD-1013", "ORD-1015", "ORD-1016"):
        owner = story.desk.shop.order(order)
        assert owner is not None
        story.asks_refund(story.opens_chat(owner.customer_id), "5.00", order)


def paid(story: SlackStory, approval: Approval) -> Approval:
    """Let Mia approve, and the refund be paid."""
    story.model.says("It is paid.")
    story.clicks("mia", approval, "approval_approve")
    return story.approval(approval.id)


# --- what is typed


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pending", Pending()),
        ("  PENDING  ", Pending()),
        ("show ord-1001", Show("ord-1001")),
        ("mine", Mine()),
        ("stats", Stats()),
        ("breaker", BreakerState()),
        ("help", Help()),
        ("", Help()),
        ("show", Help("show")),
        ("show a b", Help("show a b")),
        ("pending please", Help("pending please")),
        ("reply ABC123  so\nbe it", Reply("ABC123", "so\nbe it")),
        ("reply ABC123", Help("reply ABC123")),
        # Nothing of it can be read.
        ("reply ABC123 < >", Help("reply ABC123 < >")),
        ("mine <@U07ANARIBEI|ana>", Help("mine <@U07ANARIBEI|ana>")),
        ("refund &lt;all&gt; &amp;amp;", Help("refund <all> &amp;")),
    ],
)
def test_a_command_is_read_strictly(typed: str, meant: Command, database_url: str) -> None:
    assert database_url
    assert read_command(typed) == meant


def test_whatever_is_not_a_command_is_answered_by_help_with_a_button_for_each(
    story: SlackStory,
) -> None:
    answer = story.commands("ana", "approve everything")
    told = shown(answer)
    assert "There is no “approve everything”." in told
    assert all(f"/refunds {verb}" in told for verb in ("pending", "show ID", "mine", "stats"))
    assert action_ids(answer) == [
        "show_mine",
        "show_queue",
        "find_request",
        "show_hand_offs",
        "show_stats",
        "show_breaker",
    ]
    titles = []
    for action_id in action_ids(answer):
        story.presses("ana", answer, action_id)
        titles.append(title(story.form("ana")))
    assert titles == ["Mine", "All that waits", "Find a request", "Hand-offs", "Stats", "Breaker"]


def test_who_may_not_look_learns_nothing_and_it_is_noted(story: SlackStory) -> None:
    approval = story.parks()
    help_of_ana = story.commands("ana", "help")
    asked = ("pending", f"show {approval.id}", "mine", "handoffs", "stats", "breaker", "help")
    for text in asked:
        answer = story.commands("gus", text)
        assert "You have no role at this desk" in answer["text"]
        assert "ORD-1001" not in shown(answer)
    assert story.trail().count("decision.refused") == len(asked)
    # Nor does a button, whoever sees it.
    where = {"channel": APPROVALS, "ts": help_of_ana["ts"], "action_id": "show_queue"}
    story.slack.act("/click", 404, user="sam", **where)
    story.clock.advance(seconds=61)
    assert "could not be verified just now" in story.commands("ana", "pending")["text"]
    story.presses("ana", help_of_ana, "show_queue")
    assert title(story.form("ana")) == "Could not verify"
    assert "ORD-1001" not in shown(story.form("ana"))


# --- what waits


def test_pending_lists_everything_with_a_button_that_reviews_it(story: SlackStory) -> None:
    chair = story.parks()
    story.parks("689.00", "ORD-1005")
    answer = story.commands("ana", "pending")
    assert answer["text"] == "2 waiting for a person."
    assert "Refund of 160.00 USD" in shown(answer)
    # What waits for others stands in it as well: whoever reads may look at everything.
    assert "Refund of 689.00 USD" in shown(answer)
    names = [button["action_id"] for button in rows(answer)]
    assert names == ["approval_review.0", "approval_review.1"]
    story.presses("ana", answer, "approval_review.0")
    story.model.says("It is paid.")
    story.submits("ana")
    assert story.approval(chair.id).status is Status.EXECUTED
    assert story.commands("ana", "pending")["text"] == "1 waiting for a person."
    story.clock.advance(minutes=30)
    story.syncs()
    # Its time is over, whether or not the sweep has been there.
    assert story.commands("ana", "pending")["text"] == "Nothing waits for a person."


def test_a_long_queue_fits_a_message_and_a_modal(story: SlackStory) -> None:
    crowd(story, story.parks(), 40)
    answer = story.commands("mia", "pending")
    assert len(rows(answer)) == 10
    assert "31 more. The Home tab has your own, page by page." in shown(answer)
    story.presses("mia", story.commands("mia", "help"), "show_queue")
    assert len(rows(story.form("mia"))) == 30
    story.presses_inside("mia", "approval_review.29")
    assert title(story.form("mia")) == "Review refund"
    assert "33 more wait for you in the Home tab." in shown(story.commands("mia", "mine"))


def test_mine_is_what_waits_and_what_was_decided_today(story: SlackStory) -> None:
    paid(story, story.parks())
    story.parks("689.00", "ORD-1005")
    answer = story.commands("mia", "mine")
    assert answer["text"] == "1 waiting for you, 1 decided by you today."
    assert "You approved it · ✅ Approved and paid" in shown(answer)
    assert [button["text"]["text"] for button in rows(answer)] == ["Review", "Details"]
    story.presses("mia", answer, "approval_review.8")
    assert title(story.form("mia")) == "Refund"
    assert story.commands("ana", "mine")["text"] == "0 waiting for you, 0 decided by you today."


# --- one request


def test_show_gives_the_card_with_all_its_buttons(story: SlackStory) -> None:
    chair = story.parks()
    answers = [story.commands("mia", f"show {chair.id}") for _ in "ab"]
    assert action_ids(answers[0]) == action_ids(story.card(chair))
    assert chair.short_hash() in shown(answers[0])
    story.model.says("It is paid.")
    story.presses("mia", answers[0], "approval_approve")
    assert story.approval(chair.id).status is Status.EXECUTED
    # The answer before it is an old picture; a late click is told so.
    story.presses("mia", answers[1], "approval_approve")
    assert f"Already approved by {MIA.name}" in story.whispers("mia")[-1]
    ended = story.commands("mia", f"show …{chair.id[-6:].lower()}")
    assert "Approved and paid" in shown(ended)


def test_show_lists_what_fits_and_says_when_nothing_does(story: SlackStory) -> None:
    first = paid(story, story.parks("100.00"))
    second = story.parks("60.00")
    answer = story.commands("mia", "show ord-1001")
    assert answer["text"] == "2 requests, the newest first"
    assert [button["text"]["text"] for button in rows(answer)] == ["Review", "Details"]
    assert [second.id in rows(answer)[0]["value"], first.id in rows(answer)[1]["value"]] == [
        True,
        True,
    ]
    told = story.commands("mia", "show <b>nothing")["text"]
    assert "There is no request “&lt;b&gt;nothing”." in told


def test_a_request_is_found_by_the_button_too(story: SlackStory) -> None:
    chair = story.parks()
    story.opens_home("mia")
    story.presses_home("mia", "find_request")
    nothing = story.submits("mia", request="ORD-9999")
    assert "There is no request “ORD-9999”." in nothing["errors"]["request"]
    story.submits("mia", request=chair.id[-6:])
    assert title(story.form("mia")) == "Found"
    story.presses_inside("mia", "approval_review.0")
    assert title(story.form("mia")) == "Review refund"
    assert story.forms("mia") == 2


# --- the numbers, and the switches


def test_stats_count_and_name_people_for_managers_alone(story: SlackStory) -> None:
    paid(story, story.parks())
    story.asks_refund(story.opens_chat("cus_sofia"), "20.00", "ORD-1017")
    kettle = story.parks("129.00", "ORD-1008")
    story.clock.advance(minutes=4)
    story.syncs()
    story.clicks("ana", kettle, "approval_reject")
    story.model.says("Sorry.")
    story.submits("ana", category="not_eligible", reason="Out of the window")
    answer = story.commands("mia", "stats")
    told = shown(answer)
    assert answer["text"].startswith("Ended today: 2, of them 1 done, 1 rejected, 0 that nobody")
    lines = {line.rstrip()[:22].rstrip(): line.split()[-1] for line in table(answer) if line}
    assert lines["Approved and done"] == "1"
    assert lines["Rejected"] == "1"
    assert lines["Ran without a person"] == "1"
    assert "4 min 00 s" in told
    assert "Mia Lindqvist" in told
    story.presses("ana", story.commands("ana", "help"), "show_stats")
    assert "Approved and done" in shown(story.form("ana"))
    assert "Mia Lindqvist" not in shown(story.form("ana"))


def table(view: dict[str, Any]) -> list[str]:
    (block,) = (
        part
        for block in view["blocks"]
        if block["type"] == "rich_text"
        for part in block["elements"]
        if part["type"] == "rich_text_preformatted"
    )
    return str(block["elements"][0]["text"]).splitlines()


def test_breaker_shows_the_state_and_the_buttons_of_those_who_may(story: SlackStory) -> None:
    answer = story.commands("olu", "breaker")
    assert (
        "Automatic refunds run. 0 of 5 automatic refunds in the last 60 seconds." in answer["text"]
    )
    assert action_ids(answer) == ["desk_stop"]
    assert action_ids(story.commands("ana", "breaker")) == []
    breaks(story)
    opened = story.commands("mia", "breaker")
    assert "Automatic refunds are paused until" in opened["text"]
    assert action_ids(opened) == ["alert_acknowledge", "breaker_reset", "desk_stop"]
    story.presses("mia", opened, "alert_acknowledge")
    assert f"{MIA.name} looks into it." in story.commands("olu", "breaker")["text"]
    story.clock.advance(seconds=31)
    assert "as a trial" in story.commands("olu", "breaker")["text"]
    story.presses("mia", opened, "breaker_reset")
    assert story.submits("mia", reason="All are genuine")["response_action"] == "clear"
    story.presses("olu", answer, "desk_stop")
    assert story.submits("olu", reason="Double payments")["response_action"] == "clear"
    stopped = story.commands("mia", "breaker")
    assert stopped["text"].startswith("🛑 Everything is stopped, by Olu Bankole at ")
    assert "Double payments" in stopped["text"]
    assert action_ids(stopped) == ["desk_lift"]
    story.presses("mia", stopped, "desk_lift")
    assert story.submits("mia", reason="It is mended")["response_action"] == "clear"


def test_a_form_that_was_tampered_with_shows_nothing(story: SlackStory) -> None:
    approval = replace(story.parks(), id=ApprovalId("apr_" + "Z" * 26))
    story.opens_home("mia")
    body = {"user": "mia", "view_id": story.home("mia")["id"], "value": '{"v":2}'}
    before = story.trail().count("decision.refused")
    for action_id in ("show_queue", "home_on", "home_refresh", "find_request"):
        story.slack.act("/click", action_id=action_id, **body)
    assert story.trail().count("decision.refused") == before + 4
    assert story.commands("mia", f"show {approval.id}")["text"].startswith("There is no request")
