"""Slack's bad days against the real stand-in: nothing is lost, doubled, overtaken or made up."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Response
from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.places import Pace
from agent.domain.policy import read_policy
from agent.domain.roles import Identity, Role
from agent.ports import Delivered, Delivery, DeliveryAnswer, MessageRef, NoAnswer, Notifier
from agent.steps.announce import next_announcement
from agent.steps.mail import send_mail
from bot.slack.channels import check_channels
from bot.slack.client import SlackNotifier, web_client
from storage import alerts, approvals, cards
from storage.transaction import Store
from tests.story.orders import owner_of
from tests.support.builders import policy_document
from tests.support.doubles import START, HandClock
from tests.support.slack_looks import action_ids
from tests.support.slack_sandbox import APPROVALS, BOT_TOKEN, ONCALL
from tests.support.slack_server import (
    WANTED,
    Servers,
    SlackStory,
    running_servers,
    slack_story,
)

REVIEW = "C07REVIEW"
PAGER = "pager@shop.example"

# What is tried here does not depend on the kind of database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    """Yield a desk at Slack's own pace, which the stand-in insists on, and one clock for both."""
    document = policy_document()
    document["max_open_approvals"] = 1000
    with slack_story(
        servers,
        tmp_path,
        store,
        read_policy(document),
        clock=HandClock(START),
        around=lambda desk: replace(desk, oncall_mail=(PAGER,)),
        burst=1,
    ) as told:
        told.model.otherwise = " "
        told.pace = Pace()
        yield told


def waits(story: SlackStory, amount: str = "160.00", order: str = "ORD-1004") -> Approval:
    """Let a refund wait; its card leaves as far as the pace lets it."""
    before = story.desk.ids.new("apr")
    story.asks_refund(story.opens_chat(owner_of(story, order)), amount, order)
    with story.desk.store.transaction(write=False) as tx:
        (row,) = approvals.page(tx, Status.PENDING, before, 2)
    return row


def passes(story: SlackStory, until: datetime | None = None) -> int:
    """Let time pass as the worker would wait, until nothing is due or until a moment."""
    count = story.delivers()
    while (due := next_announcement(story.desk)) is not None:
        if until is not None and due > until:
            break
        story.clock.at = max(due, story.clock.at)
        count += story.delivers()
    story.clock.at = max(until or story.clock.at, story.clock.at)
    return count


def fails(story: SlackStory, method: str = "chat.postMessage", **how: Any) -> None:
    story.slack.act("/faults", 204, method=method, **how)


def card_messages(story: SlackStory, channel: str = APPROVALS) -> list[dict[str, Any]]:
    """Return the cards in a channel, oldest first."""
    return [
        message
        for message in story.posted(channel)
        if message["thread_ts"] is None and "approval_id" in about(message)
    ]


def about(message: dict[str, Any]) -> dict[str, Any]:
    return dict((message["metadata"] or {}).get("event_payload", {}))


def open_alerts(story: SlackStory) -> dict[AlertKind, str]:
    with story.desk.store.transaction(write=False) as tx:
        return {a.kind: str(a.body["text"]) for a in alerts.still_open(tx)}


def pages(story: SlackStory) -> list[str]:
    """Send what is due by mail and return the subjects of every page so far."""
    while send_mail(story.desk):
        pass
    return [mail.envelope.subject for mail in story.mails() if mail.envelope.to == (PAGER,)]


@dataclass
class Watched(Notifier):
    """The notifier, and what came of each try; the stand-in's refusals would show here."""

    inner: Notifier
    answers: list[DeliveryAnswer] = field(default_factory=list)

    @property
    @override
    def channels(self) -> Any:
        return self.inner.channels

    @override
    def deliver(self, delivery: Delivery) -> DeliveryAnswer:
        answer = self.inner.deliver(delivery)
        self.answers.append(answer)
        return answer

    @override
    def pulse(self) -> Any:
        return self.inner.pulse()

    @override
    def look(self, channel: str) -> Any:
        return self.inner.look(channel)


# --- one message, one place


def test_too_many_posts_wait_exactly_as_long_as_slack_asks_and_in_order(story: SlackStory) -> None:
    fails(story, status=429, retry_after=17)
    first = waits(story)
    second = waits(story, "170.00")
    assert card_messages(story) == []
    story.clock.advance(seconds=16.9)
    assert story.delivers() == 0
    story.clock.advance(seconds=0.1)
    assert story.delivers() == 1
    assert story.delivers() == 0
    story.clock.advance(seconds=1)
    story.delivers()
    assert [about(m)["approval_id"] for m in card_messages(story)] == [first.id, second.id]


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"status": 500, "landed": True}, id="a 500 after it landed"),
        pytest.param({"error": "internal_error", "landed": True}, id="an error after it landed"),
        pytest.param({"status": 503}, id="a 503 before it landed"),
    ],
)
def test_a_post_of_unknown_outcome_is_looked_for_and_is_there_once(
    story: SlackStory, how: dict[str, Any]
) -> None:
    fails(story, **how)
    row = waits(story)
    passes(story)
    (card,) = card_messages(story)
    with story.desk.store.transaction(write=False) as tx:
        assert [ref.ts for ref in cards.of(tx, row.id)] == [card["ts"]]
    assert story.approval(row.id).shown_at is not None


def test_a_post_that_landed_and_was_never_answered_is_found_after_the_time_out(
    servers: Servers, story: SlackStory
) -> None:
    whole = servers.slack.app

    async def keep_quiet(message: Message) -> None:
        """Let nobody hear the answer."""

    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].endswith("chat.postMessage"):
            await whole(scope, receive, send)
            return
        await whole(scope, receive, keep_quiet)
        servers.slack.app = whole
        while (await receive())["type"] != "http.disconnect":
            pass

    servers.slack.app = deaf
    client = web_client(BOT_TOKEN, f"{story.slack.config.base_url}/api/", timeout_s=1)
    channels = check_channels(client, WANTED)
    watched = Watched(SlackNotifier(client, client, channels, story.desk.store, story.clock))
    story.sender = watched
    row = waits(story)
    passes(story)
    unheard, found = watched.answers
    assert isinstance(unheard, NoAnswer)
    assert unheard.ambiguous
    (card,) = card_messages(story)
    assert found == Delivered((MessageRef(APPROVALS, card["ts"]),))
    assert about(card)["approval_id"] == row.id


def test_where_nobody_can_look_both_copies_are_kept_as_soon_as_they_are_known(
    story: SlackStory,
) -> None:
    fails(story, status=500, landed=True, times=2)
    fails(story, "conversations.history", error="missing_scope", times=1)
    row = waits(story)
    passes(story)
    posted = card_messages(story)
    # Two tries landed unseen; the third look found both.
    assert len(posted) == 2
    with story.desk.store.transaction(write=False) as tx:
        assert {ref.ts for ref in cards.of(tx, row.id)} == {card["ts"] for card in posted}
    story.approves(story.hire("ana", Role.REFUND_APPROVER), row)
    story.rests()
    passes(story)
    assert [card["edited"] is not None for card in card_messages(story)] == [True, True]


def test_a_refused_drawing_is_replaced_by_a_plainer_one_and_told_once(story: SlackStory) -> None:
    fails(story, error="invalid_blocks", times=2)
    waits(story)
    waits(story, "170.00")
    passes(story)
    brief, whole = card_messages(story)
    assert action_ids(brief) == ["approval_review"]
    assert "approval_approve" in action_ids(whole)
    assert "invalid_blocks" in open_alerts(story)[AlertKind.BLOCKS_REFUSED]
    (alert,) = story.posted(ONCALL)
    assert "a plainer one was posted" in alert["text"]


@pytest.mark.parametrize(
    "error", ["message_not_found", "cant_update_message", "edit_window_closed"]
)
def test_a_card_that_cannot_be_updated_is_posted_afresh_with_its_end(
    story: SlackStory, error: str
) -> None:
    row = waits(story)
    passes(story)
    fails(story, "chat.update", error=error)
    story.rejects(story.hire("ana", Role.REFUND_APPROVER), row)
    story.rests()
    passes(story)
    old, fresh = card_messages(story)
    assert "approval_approve" in action_ids(old)
    assert "approval_approve" not in action_ids(fresh)
    assert "Rejected" in json.dumps(fresh["blocks"])
    with story.desk.store.transaction(write=False) as tx:
        assert [ref.ts for ref in cards.of(tx, row.id)] == [fresh["ts"]]


# --- a channel


def archive(story: SlackStory, channel: str, *, away: bool = True) -> None:
    story.slack.act("/channels", 204, channel=channel, is_archived=away)


def test_an_archived_channel_has_a_substitute_and_heals_by_itself(story: SlackStory) -> None:
    seen = waits(story)
    passes(story)
    archive(story, APPROVALS)
    late = waits(story, "170.00")
    passes(story, story.clock.now() + timedelta(seconds=30))
    # What waited in the channel is shown elsewhere too, and the alert comes once.
    assert {about(m)["approval_id"] for m in card_messages(story, ONCALL)} == {seen.id, late.id}
    assert "invite the bot" not in open_alerts(story)[AlertKind.SLACK_TROUBLE].lower()
    assert "(is_archived)" in open_alerts(story)[AlertKind.SLACK_TROUBLE]
    assert story.approval(late.id).shown_at is not None
    story.rejects(story.hire("ana", Role.REFUND_APPROVER), seen)
    story.rests()
    passes(story, story.clock.now() + timedelta(seconds=20))
    elsewhere = next(m for m in card_messages(story, ONCALL) if about(m)["approval_id"] == seen.id)
    assert "approval_approve" not in action_ids(elsewhere)
    assert [m["text"] for m in story.posted(ONCALL) if "refuses messages" in m["text"]]
    archive(story, APPROVALS, away=False)
    passes(story, story.clock.now() + timedelta(seconds=90))
    # Its own card is brought up to date, and what comes now is where it belongs.
    (old,) = card_messages(story)
    assert "approval_approve" not in action_ids(old)
    assert open_alerts(story) == {}
    after = waits(story, "180.00")
    passes(story)
    assert about(card_messages(story)[-1])["approval_id"] == after.id
    assert pages(story) == []


def test_a_channel_without_the_bot_is_told_apart_from_one_that_an_admin_has_closed(
    story: SlackStory,
) -> None:
    story.slack.act("/channels", 204, channel=APPROVALS, is_member=False)
    waits(story)
    passes(story, story.clock.now() + timedelta(seconds=5))
    assert "Invite the bot there." in open_alerts(story)[AlertKind.SLACK_TROUBLE]
    story.slack.act("/channels", 204, channel=APPROVALS, is_member=True)
    passes(story, story.clock.now() + timedelta(seconds=90))
    assert open_alerts(story) == {}
    # A look does not show what an admin forbids: the next message tries, each minute.
    fails(story, error="restricted_action")
    waits(story, "170.00")
    passes(story, story.clock.now() + timedelta(seconds=5))
    told = open_alerts(story)[AlertKind.SLACK_TROUBLE]
    assert "A workspace admin has to allow it." in told
    story.clock.advance(seconds=60)
    fails(story, error="restricted_action")
    waits(story, "180.00")
    passes(story, story.clock.now() + timedelta(seconds=5))
    assert open_alerts(story)[AlertKind.SLACK_TROUBLE] == told
    story.clock.advance(seconds=60)
    waits(story, "190.00")
    passes(story)
    assert open_alerts(story) == {}
    assert len(card_messages(story)) == 1
    assert len([m for m in story.posted(ONCALL) if "refuses messages" in m["text"]]) == 0


def test_where_no_channel_is_left_people_are_paged_and_the_cards_wait(story: SlackStory) -> None:
    for channel in (APPROVALS, ONCALL, REVIEW):
        archive(story, channel)
    row = waits(story)
    passes(story, story.clock.now() + timedelta(minutes=3))
    assert pages(story) == ["Supportdesk: Slack is the trouble"]
    assert story.approval(row.id).shown_at is None
    for channel in (APPROVALS, ONCALL, REVIEW):
        archive(story, channel, away=False)
    passes(story, story.clock.now() + timedelta(minutes=2))
    assert [about(m)["approval_id"] for m in card_messages(story)] == [row.id]
    assert story.approval(row.id).shown_at is not None
    assert open_alerts(story) == {}


# --- everything


@pytest.mark.parametrize("error", ["token_revoked", "account_inactive", "invalid_auth"])
def test_a_token_that_slack_refuses_stops_everything_and_pages_by_mail(
    story: SlackStory, error: str
) -> None:
    story.slack.act("/app", error=error)
    row = waits(story)
    passes(story, story.clock.now() + timedelta(minutes=3))
    assert pages(story) == ["Supportdesk: Slack is the trouble"]
    (mail,) = story.mails()
    assert error in mail.envelope.body or "uninstalled" in mail.envelope.body
    assert card_messages(story) == []
    story.slack.act("/app", error="")
    passes(story, story.clock.now() + timedelta(minutes=2))
    assert [about(m)["approval_id"] for m in card_messages(story)] == [row.id]
    assert pages(story)[1:] == ["Supportdesk: Slack works again"]
    # Afterwards people on call read in Slack what there was.
    assert any("takes messages again" in json.dumps(m["blocks"]) for m in story.posted(ONCALL))


def test_a_scope_that_one_message_lacks_holds_up_the_others_for_minutes_and_not_for_ever(
    story: SlackStory,
) -> None:
    fails(story, error="missing_scope", times=5)
    first, second = waits(story), waits(story, "170.00")
    passes(story, story.clock.now() + timedelta(minutes=2))
    assert card_messages(story) == []
    assert len(pages(story)) == 1
    passes(story, story.clock.now() + timedelta(minutes=5))
    assert {about(m)["approval_id"] for m in card_messages(story)} == {first.id, second.id}
    assert pages(story)[1:] == ["Supportdesk: Slack works again"]


def down(calls: list[str]) -> FastAPI:
    """Return a Slack that answers nothing but 503."""
    app = FastAPI()

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def anything(path: str) -> Response:
        calls.append(path.rpartition("/")[2])
        return Response("upstream connect error", 503)

    return app


def test_an_hour_without_slack_and_two_hundred_requests_meanwhile(
    servers: Servers, story: SlackStory
) -> None:
    ana, watched = story.hire("ana", Role.REFUND_APPROVER), Watched(story.sender)
    story.sender = watched
    early = [waits(story, f"{n}.00") for n in (51, 52, 53)]
    passes(story)
    up, calls = servers.slack.app, list[str]()
    servers.slack.app = down(calls)
    rows = early + an_hour(story, ana)
    servers.slack.app = up
    unknown = len(calls)
    # Nothing but looks, ever rarer, and few of them.
    assert calls.count("chat.postMessage") <= 2
    assert unknown < 100
    assert pages(story) == ["Supportdesk: Slack is the trouble"]
    began, tried = story.clock.now(), len(watched.answers)
    passes(story)
    story.sweeps()
    passes(story)
    # Every card once, in order, at Slack's pace without being told off.
    posted = card_messages(story)
    assert [about(m)["approval_id"] for m in posted] == [row.id for row in rows]
    assert all(isinstance(a, Delivered) for a in watched.answers[tried:])
    assert story.clock.now() - began >= timedelta(seconds=200)
    ended = {row.id: story.approval(row.id).status is not Status.PENDING for row in rows}
    for message in posted:
        over = "approval_approve" not in action_ids(message)
        assert over == ended[about(message)["approval_id"]]
    # Nobody could have decided what had lapsed before its card was there.
    came = {about(m)["approval_id"]: float(m["ts"]) for m in posted}
    ends = {r.id: r.expires_at for r in story.all(Status.EXPIRED)}
    unseen = {row_id for row_id, at in ends.items() if came[row_id] >= at.timestamp()}
    assert len(ends) > len(unseen) > 80
    facts = [f for f in story.facts() if f["type"] == "approval.expired"]
    assert {f["approval_id"] for f in facts if f["data"].get("unseen")} == unseen
    assert all(story.approval(row_id).result == {"unseen": True} for row_id in unseen)
    with story.desk.store.transaction(write=False) as tx:
        assert approvals.unseen(tx) == len(unseen)
    assert pages(story)[1:] == ["Supportdesk: Slack works again"]


def an_hour(story: SlackStory, ana: Identity) -> list[Approval]:
    """Let an hour pass in which two hundred requests are made, some are decided and many lapse."""
    rows = []
    for number in range(200):
        rows.append(waits(story, f"{60 + number}.00"))
        if number in {30, 180}:
            story.rejects(ana, rows[-1])
        if number in {50, 90, 195}:
            story.approves(ana, rows[-1])
        story.rests()
        story.clock.advance(seconds=18)
        if number % 10 == 9:
            story.sweeps()
    return rows
