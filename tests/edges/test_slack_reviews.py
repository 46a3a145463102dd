"""Automatic effects looked at afterwards: the message, Looks right, Flag, and who said what."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.reviews import Review, ReviewState
from bot.sandbox.cast import ANA, BEN, CHANNELS
from storage import cards, reviews
from storage.cards import MessageKind
from storage.transaction import Store
from tests.support.outside import button_value
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_sandbox import APPROVALS, ONCALL
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

REVIEW = CHANNELS[2].id


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def refunds(story: SlackStory) -> Approval:
    """Let a refund run by itself that is large enough for a review."""
    story.asks_refund(story.opens_chat("cus_clara"), "40.00", "ORD-1002")
    return story.only(Status.EXECUTED)


def asked(story: SlackStory) -> dict[str, Any]:
    """Return the message that asks for a review."""
    (found,) = story.posted(REVIEW)
    return found


def review(story: SlackStory, approval: Approval) -> Review:
    with story.desk.store.transaction(write=False) as tx:
        found = reviews.get(tx, approval.id)
    assert found is not None
    return found


def test_a_large_automatic_refund_is_put_before_people(story: SlackStory) -> None:
    approval = refunds(story)
    message = asked(story)
    assert action_ids(message) == ["review_right", "review_flag", "approval_review"]
    assert "40.00 USD" in shown(message)
    assert message["metadata"]["event_payload"]["approval_id"] == approval.id
    assert story.posted(APPROVALS) == []
    with story.desk.store.transaction(write=False) as tx:
        assert cards.of(tx, approval.id) == ()
        (ref,) = cards.of(tx, approval.id, MessageKind.REVIEW)
        assert cards.approval_at(tx, ref) == approval.id
    assert (ref.channel, ref.ts) == (REVIEW, message["ts"])


def test_looks_right_is_one_click_and_the_message_says_who(story: SlackStory) -> None:
    approval = refunds(story)
    answer = story.presses("ana", asked(story), "review_right")
    assert (answer["status"], answer["body"]) == (200, "")
    assert review(story, approval).state is ReviewState.RIGHT
    message = asked(story)
    assert message["edited"] is not None
    assert "review_right" not in action_ids(message)
    assert ANA.name in shown(message)
    assert story.whispers("ana", REVIEW) == []
    assert "review.answered" in story.trail()


def test_a_flag_needs_a_reason_and_pauses_what_runs_by_itself(story: SlackStory) -> None:
    approval = refunds(story)
    story.presses("ben", asked(story), "review_flag")
    assert title(story.form("ben")) == "Flag what was wrong"
    assert list(story.submits("ben", reason="       ")["errors"]) == ["reason"]
    result = story.submits("ben", reason="The lamp was never broken")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert review(story, approval).state is ReviewState.FLAGGED
    message = asked(story)
    assert BEN.name in shown(message)
    assert "The lamp was never broken" in shown(message)
    assert "automatic.paused" in story.trail()


def test_the_second_answer_is_told_who_was_first(story: SlackStory) -> None:
    approval = refunds(story)
    value = button_value(asked(story), "review_right")
    story.presses("ben", asked(story), "review_flag")
    story.presses("ana", asked(story), "review_right")
    story.presses("mia", asked(story), "review_right", value)
    assert story.whispers("mia", REVIEW) == [f"{ANA.name} has answered already."]
    result = story.submits("ben", reason="The lamp was never broken")
    assert result["response_action"] == "update"
    assert f"{ANA.name} has answered already." in shown(story.form("ben"))
    assert review(story, approval).state is ReviewState.RIGHT
    assert story.trail().count("decision.refused") == 2


@pytest.mark.parametrize("user", ["olu", "sam", "gus"])
def test_a_review_takes_the_role(story: SlackStory, user: str) -> None:
    approval = refunds(story)
    story.presses(user, asked(story), "review_right")
    assert len(story.whispers(user, REVIEW)) == 1
    assert review(story, approval).state is ReviewState.OPEN
    assert story.trail().count("decision.refused") == 1


def test_details_of_a_review_show_every_bound_field(story: SlackStory) -> None:
    approval = refunds(story)
    story.presses("ana", asked(story), "approval_review")
    form = story.form("ana")
    assert form["submit"] is None
    assert approval.payload_hash in shown(form)


# --- delivery


def test_a_review_whose_answer_was_lost_is_posted_once(story: SlackStory) -> None:
    story.slack.act("/faults", 204, method="chat.postMessage", status=503)
    approval = refunds(story)
    story.clock.advance(seconds=5)
    story.rests()
    assert asked(story)["metadata"]["event_payload"]["approval_id"] == approval.id


def test_a_review_message_that_is_gone_is_not_missed(story: SlackStory) -> None:
    approval = refunds(story)
    message = asked(story)
    story.slack.client.chat_delete(channel=REVIEW, ts=message["ts"])
    value = button_value(message, "review_right")
    with story.desk.store.transaction(write=False) as tx:
        assert len(cards.of(tx, approval.id, MessageKind.REVIEW)) == 1
    other = story.parks()
    story.presses("ana", story.card(other), "review_right", value)
    assert review(story, approval).state is ReviewState.RIGHT
    assert story.posted(REVIEW) == []
    with story.desk.store.transaction(write=False) as tx:
        assert cards.of(tx, approval.id, MessageKind.REVIEW) == ()


def test_a_review_whose_channel_is_archived_goes_to_people_on_call_with_an_alert(
    story: SlackStory,
) -> None:
    story.slack.act("/channels", 204, channel=REVIEW, is_archived=True)
    refunds(story)
    review, alert = story.posted(ONCALL)
    assert "Slack refuses messages to the review channel (is_archived)" in alert["text"]
    assert "Please look" in json.dumps(review["blocks"])
