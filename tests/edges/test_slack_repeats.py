"""What Slack delivers twice is worked on once, and answered twice with the same words."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from slack_bolt import BoltResponse

from agent.domain.approvals import Status
from agent.domain.money import Money
from agent.steps.repeat import forget_answers
from bot.sandbox.cast import ANA
from bot.sandbox.slack_delivery import FORM, JSON
from bot.slack.once import Once, StillAtWork
from storage import seen
from storage.transaction import Store
from tests.support.slack_sandbox import APPROVALS
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

TEAM = "T07SHOPSTRM"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def form(**payload: Any) -> bytes:
    return urlencode({"payload": json.dumps(payload)}).encode()


def click(action_id: str, value: str, **changes: Any) -> bytes:
    action = {"type": "button", "action_id": action_id, "block_id": "b", "value": value}
    return form(
        type="block_actions",
        user={"id": ANA.slack_user_id, "team_id": TEAM},
        team={"id": TEAM},
        channel={"id": APPROVALS},
        container={"type": "message", "message_ts": "17.5"},
        trigger_id="1.x",
        actions=[action | {"action_ts": "18.1"} | changes],
    )


def value_of(story: SlackStory, action_id: str) -> str:
    (card,) = story.posted(APPROVALS)
    rows = [block["elements"] for block in card["blocks"] if block["type"] == "actions"]
    return str(next(e["value"] for row in rows for e in row if e["action_id"] == action_id))


def acts(story: SlackStory) -> list[dict[str, Any]]:
    return [fact for fact in story.facts() if fact["type"] == "slack.acted"]


def test_a_click_delivered_three_times_is_one_vote_one_word_and_one_line(
    story: SlackStory,
) -> None:
    approval = story.parks()
    body = click("approval_approve", value_of(story, "approval_approve"))
    story.model.says("It is paid.")
    answers = [story.sends(body, FORM) for _ in range(3)]
    story.rests()
    assert [(a.status_code, a.text) for a in answers] == [(200, "")] * 3
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]
    assert story.whispers("ana") == []
    assert story.trail().count("vote.cast") == 1
    assert "decision.refused" not in story.trail()
    (act,) = acts(story)
    assert (act["approval_id"], act["chain"]) == (approval.id, approval.run_id)
    told = act["data"]
    assert (told["identity"], told["action_ts"]) == (f"slack:{TEAM}:{ANA.slack_user_id}", "18.1")
    assert (told["rev"], told["shown_hash"]) == (approval.revision, approval.short_hash())
    # A second click of the same person at another moment is another one, and is told so.
    story.sends(
        click(
            "approval_approve", value_of_before(approval.short_hash(), approval), action_ts="18.2"
        ),
        FORM,
    )
    story.rests()
    assert "Already approved" in story.whispers("ana")[-1]
    assert len(acts(story)) == 2


def value_of_before(short_hash: str, approval: Any) -> str:
    return json.dumps({"v": 1, "id": approval.id, "rev": approval.revision, "h": short_hash})


def test_a_refusal_is_told_and_written_down_once(story: SlackStory) -> None:
    approval = story.parks()
    body = click("approval_approve", value_of_before("0" * 16, approval))
    unknown = click("approval_delete_everything", "x", action_ts="18.3")
    for _ in range(2):
        assert story.sends(body, FORM).status_code == 200
        assert story.sends(unknown, FORM).status_code == 200
    story.rests()
    assert len(story.whispers("ana")) == 2
    assert story.trail().count("decision.refused") == 2
    assert len(acts(story)) == 2


def test_a_form_delivered_twice_gets_the_same_answer_and_one_submitted_again_its_own(
    story: SlackStory,
) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_reject")
    view = story.form("ana")

    def submission(reason: str, trigger: str) -> bytes:
        typed = {
            "category": {"value": {"selected_option": {"value": "other"}}},
            "reason": {"value": {"value": reason}},
        }
        return form(
            type="view_submission",
            user={"id": ANA.slack_user_id, "team_id": TEAM},
            team={"id": TEAM},
            trigger_id=trigger,
            view={**view, "state": {"values": typed}},
        )

    short = [story.sends(submission("no", "t.1"), FORM).json() for _ in range(2)]
    assert short[0] == short[1]
    assert list(short[0]["errors"]) == ["reason"]
    assert story.trail().count("decision.refused") == 1
    # The form stays as it is after an error, hash and all: what is typed next is another try.
    story.model.says("It was declined.")
    done = [story.sends(submission("Too late for that", "t.2"), FORM).json() for _ in range(2)]
    assert done == [{"response_action": "clear"}] * 2
    assert story.approval(approval.id).status is Status.REJECTED
    assert story.trail().count("vote.cast") == 1


def test_a_command_and_an_event_that_come_twice(story: SlackStory) -> None:
    story.parks()
    who = {"team_id": TEAM, "user_id": ANA.slack_user_id, "channel_id": APPROVALS}
    typed = {**who, "command": "/refunds", "text": "pending", "trigger_id": "5.c"}
    said = [story.sends(urlencode(typed).encode(), FORM).text for _ in range(2)]
    assert said[0] == said[1] != ""
    (act,) = acts(story)
    assert (act["data"]["kind"], act["data"]["text"]) == ("/refunds", "pending")
    opened = {
        "type": "event_callback",
        "team_id": TEAM,
        "event_id": "Ev7",
        "event": {"type": "app_home_opened", "user": ANA.slack_user_id, "tab": "home"},
    }
    body = json.dumps(opened).encode()
    assert [story.sends(body, JSON).status_code for _ in range(2)] == [200, 200]
    assert len(acts(story)) == 1


def test_two_connections_that_bring_the_same_at_once_have_one_effect_and_one_answer(
    story: SlackStory,
) -> None:
    once, begun, go, answers = Once(story.desk), threading.Event(), threading.Event(), list[str]()
    body = {"type": "event_callback", "event_id": "Ev1", "team_id": TEAM}

    def work() -> BoltResponse:
        begun.set()
        assert go.wait(30)
        return BoltResponse(status=200, body="the first")

    def deliver() -> None:
        answers.append(once.answer(body, work).body)

    first = threading.Thread(target=deliver)
    first.start()
    assert begun.wait(30)
    # Whoever waits no longer than this leaves it to Slack to bring it again.
    impatient = Once(story.desk, wait_s=0.01)
    impatient._under_way, impatient._changed = once._under_way, once._changed
    with pytest.raises(StillAtWork):
        impatient.answer(body, work)
    second = threading.Thread(target=deliver)
    second.start()
    go.set()
    first.join()
    second.join()
    begun.clear()
    assert once.answer(body, work).body == "the first"
    assert answers == ["the first", "the first"]
    assert not begun.is_set()


def test_what_failed_is_worked_on_when_it_comes_again(story: SlackStory) -> None:
    once, body = Once(story.desk), {"type": "event_callback", "event_id": "Ev2", "team_id": TEAM}

    def fail() -> BoltResponse:
        raise TimeoutError("the database is busy")

    with pytest.raises(TimeoutError):
        once.answer(body, fail)
    assert once.answer(body, lambda: BoltResponse(status=503)).status == 503
    assert once.answer(body, lambda: BoltResponse(status=200, body="done")).body == "done"
    assert once.answer(body, fail).body == "done"


def test_answers_are_kept_for_ten_minutes_and_forgotten_in_batches(story: SlackStory) -> None:
    with story.desk.store.transaction() as tx:
        for number in range(1201):
            assert seen.note(tx, f"key{number}", story.clock.now(), "an answer")
        assert not seen.note(tx, "key0", story.clock.now(), "another")
        assert seen.answer_to(tx, "key0") == "an answer"
    story.clock.advance(minutes=10)
    story.sweeps()
    assert forget_answers(story.desk) == 0
    story.clock.advance(minutes=6)
    assert forget_answers(story.desk) == 1201


def test_a_crash_between_the_decision_and_its_answer_pays_once(story: SlackStory) -> None:
    approval = story.parks()
    body = click("approval_approve", value_of(story, "approval_approve"))
    story.model.says("It is paid.")
    story.sends(body, FORM)
    story.rests()
    # As a crash leaves it: the decision is committed, its answer is not.
    story.happens("DELETE FROM slack_seen")
    assert story.sends(body, FORM).status_code == 200
    story.rests()
    assert len(story.paid()) == 1
    assert story.approval(approval.id).status is Status.EXECUTED
    assert "Already approved" in story.whispers("ana")[-1]
