"""The notifier against the real stand-in: each answer of Slack becomes the right next step."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.domain.alerts import Alert, AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.payload import Payload
from agent.ports import (
    ChannelClosed,
    Delivered,
    Delivery,
    DeliveryAnswer,
    DeliveryKind,
    Limited,
    MessageRef,
    NoAnswer,
    NotAuthorized,
    TryAgain,
    Undeliverable,
    Unreachable,
    Well,
)
from bot.sandbox.cast import CHANNELS
from bot.slack.channels import check_channels
from bot.slack.client import SlackNotifier, web_client
from storage import decisions, reviews
from storage.transaction import Store
from tests.support.desk import KeepingNotifier
from tests.support.slack_looks import action_ids
from tests.support.slack_sandbox import APPROVALS, BOT_TOKEN, ONCALL
from tests.support.slack_server import WANTED, Servers, SlackStory, running_servers, slack_story

REVIEW = CHANNELS[2].id
WHERE = {
    DeliveryKind.CARD: APPROVALS,
    DeliveryKind.CARD_UPDATE: APPROVALS,
    DeliveryKind.THREAD: APPROVALS,
    DeliveryKind.HAND_OFF: APPROVALS,
    DeliveryKind.REVIEW: REVIEW,
    DeliveryKind.REVIEW_UPDATE: REVIEW,
    DeliveryKind.EPHEMERAL: "U07ANARIBEI",
}

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


def waiting(story: SlackStory) -> Approval:
    """Return a pending approval whose card nobody has posted."""
    owner = story.desk.shop.order("ORD-1001")
    assert owner is not None
    sender, story.sender = story.sender, KeepingNotifier()
    story.asks_refund(story.opens_chat(owner.customer_id), "160.00")
    story.sender = sender
    return story.only(Status.PENDING)


def delivery(story: SlackStory, approval: Approval | None, **changes: Any) -> Delivery:
    """Return the posting of a card; changes make it another delivery."""
    view = None
    if approval is not None:
        with story.desk.store.transaction(write=False) as tx:
            view = decisions.view(tx, story.approval(approval.id))
    first = Delivery(
        outbox_id="out_00000000000000000000000001",
        kind=DeliveryKind.CARD,
        body={},
        approval=view,
        refs=(),
        created_at=story.clock.now(),
        ambiguous=False,
        channel=WHERE.get(changes.get("kind", DeliveryKind.CARD), ONCALL),
        channels=(APPROVALS, ONCALL, REVIEW),
    )
    return replace(first, **changes)


def post(story: SlackStory, approval: Approval, **changes: Any) -> MessageRef:
    """Post a card and return where it is."""
    answer = story.sender.deliver(delivery(story, approval, **changes))
    assert isinstance(answer, Delivered)
    (ref,) = answer.refs
    return ref


def message(story: SlackStory, ref: MessageRef) -> dict[str, Any]:
    (found,) = (m for m in posted(story, ref.channel) if m["ts"] == ref.ts)
    return found


def posted(story: SlackStory, channel: str = APPROVALS) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = story.slack.look("/messages", channel=channel)
    return found


def fault(story: SlackStory, method: str, **how: Any) -> None:
    story.slack.act("/faults", 204, method=method, **how)


def block_types(found: dict[str, Any]) -> set[str]:
    return {block["type"] for block in found["blocks"]}


# --- posting


def test_a_card_is_posted_whole_and_marked(story: SlackStory) -> None:
    approval = waiting(story)
    found = message(story, post(story, approval))
    assert found["metadata"] == {
        "event_type": "supportdesk",
        "event_payload": {
            "approval_id": approval.id,
            "outbox_id": "out_00000000000000000000000001",
        },
    }
    assert "table" in block_types(found)
    assert found["text"].startswith("Refund needs approval · 160.00 USD on order ORD-1001.")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"error": "ratelimited", "retry_after": 7}, Limited("ratelimited", 7.0, ambiguous=False)),
        ({"status": 429, "retry_after": 30}, Limited("ratelimited", 30.0, ambiguous=False)),
        ({"error": "internal_error"}, NoAnswer("internal_error", ambiguous=True)),
        ({"error": "fatal_error"}, NoAnswer("fatal_error", ambiguous=True)),
        ({"error": "brand_new_error"}, TryAgain("brand_new_error", ambiguous=False)),
        ({"error": "not_in_channel"}, ChannelClosed("not_in_channel", APPROVALS)),
        ({"error": "channel_not_found"}, ChannelClosed("channel_not_found", APPROVALS)),
        ({"error": "is_archived"}, ChannelClosed("is_archived", APPROVALS)),
        ({"error": "restricted_action_new"}, ChannelClosed("restricted_action_new", APPROVALS)),
        ({"error": "ekm_access_denied"}, ChannelClosed("ekm_access_denied", APPROVALS)),
        ({"error": "missing_scope"}, NotAuthorized("missing_scope")),
        ({"error": "invalid_auth"}, NotAuthorized("invalid_auth")),
        ({"error": "account_inactive"}, NotAuthorized("account_inactive")),
    ],
)
def test_each_refusal_of_a_post_has_its_meaning(
    story: SlackStory, how: dict[str, Any], expected: DeliveryAnswer
) -> None:
    fault(story, "chat.postMessage", **how)
    assert story.sender.deliver(delivery(story, waiting(story))) == expected
    assert posted(story) == []


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_server_error_leaves_open_whether_the_post_arrived(
    story: SlackStory, status: int
) -> None:
    fault(story, "chat.postMessage", status=status)
    answer = story.sender.deliver(delivery(story, waiting(story)))
    assert isinstance(answer, NoAnswer)
    assert answer.ambiguous


def test_without_a_connection_nothing_was_sent(story: SlackStory) -> None:
    closed = web_client(BOT_TOKEN, "http://127.0.0.1:9/api/", timeout_s=2)
    channels = check_channels(story.slack.client, WANTED)
    notifier = SlackNotifier(closed, closed, channels, story.desk.store, story.clock)
    answer = notifier.deliver(delivery(story, waiting(story)))
    assert isinstance(answer, NoAnswer)
    assert not answer.ambiguous
    assert isinstance(notifier.pulse(), Unreachable)
    assert isinstance(notifier.look(APPROVALS), Unreachable)


def test_a_post_whose_answer_was_lost_is_found_and_not_repeated(story: SlackStory) -> None:
    approval = waiting(story)
    first = post(story, approval)
    again = post(story, approval, ambiguous=True)
    assert again == first
    assert len(posted(story)) == 1


def test_a_found_card_is_redrawn_as_the_request_is_now(story: SlackStory) -> None:
    approval = waiting(story)
    created_at, ref = story.clock.now(), post(story, approval)
    story.clock.advance(minutes=31)
    assert post(story, approval, ambiguous=True, created_at=created_at) == ref
    assert "approval_approve" not in json.dumps(message(story, ref)["blocks"])


def test_a_post_that_never_arrived_is_sent_after_the_look(story: SlackStory) -> None:
    approval = waiting(story)
    post(story, approval, outbox_id="out_00000000000000000000000009")
    ref = post(story, approval, ambiguous=True)
    assert len(posted(story)) == 2
    assert message(story, ref)["metadata"]["event_payload"]["outbox_id"].endswith("1")


def test_a_look_that_slack_puts_off_is_made_later(story: SlackStory) -> None:
    approval = waiting(story)
    fault(story, "conversations.history", error="ratelimited", retry_after=11)
    answer = story.sender.deliver(delivery(story, approval, ambiguous=True))
    assert answer == Limited("ratelimited", 11.0, ambiguous=True)
    assert posted(story) == []


def test_where_nobody_may_look_two_copies_do_no_harm(story: SlackStory) -> None:
    approval = waiting(story)
    post(story, approval)
    fault(story, "conversations.history", error="missing_scope")
    post(story, approval, ambiguous=True)
    assert len(posted(story)) == 2


def test_a_refused_card_is_posted_plainer_and_the_next_one_as_it_should_be(
    story: SlackStory,
) -> None:
    approval = waiting(story)
    fault(story, "chat.postMessage", error="invalid_blocks")
    answer = story.sender.deliver(delivery(story, approval))
    assert isinstance(answer, Delivered)
    assert answer.complaint == "invalid_blocks"
    found = message(story, answer.refs[0])
    assert "table" not in block_types(found)
    assert "Left to refund" in json.dumps(found["blocks"])
    assert "table" in block_types(message(story, post(story, approval)))


def test_a_card_refused_twice_is_posted_briefly_with_review(story: SlackStory) -> None:
    fault(story, "chat.postMessage", error="msg_blocks_too_long", times=2)
    found = message(story, post(story, waiting(story)))
    (row,) = (block for block in found["blocks"] if block["type"] == "actions")
    assert [element["action_id"] for element in row["elements"]] == ["approval_review"]


def test_a_card_refused_three_times_needs_a_person(story: SlackStory) -> None:
    fault(story, "chat.postMessage", error="invalid_blocks", times=3)
    answer = story.sender.deliver(delivery(story, waiting(story)))
    assert isinstance(answer, Undeliverable)


# --- updating


def update(story: SlackStory, approval: Approval, *refs: MessageRef, **more: Any) -> DeliveryAnswer:
    return story.sender.deliver(
        delivery(story, approval, kind=DeliveryKind.CARD_UPDATE, refs=refs, **more)
    )


def test_every_copy_is_redrawn(story: SlackStory) -> None:
    approval = waiting(story)
    refs = (post(story, approval), post(story, approval))
    assert update(story, approval, *refs) == Delivered()
    assert all(message(story, ref)["edited"] for ref in refs)
    assert all(message(story, ref)["metadata"] for ref in refs)


def test_a_deleted_copy_is_reported_while_another_stays(story: SlackStory) -> None:
    approval = waiting(story)
    kept, gone = post(story, approval), post(story, approval)
    story.slack.client.chat_delete(channel=gone.channel, ts=gone.ts)
    assert update(story, approval, kept, gone) == Delivered(lost_refs=(gone,))
    assert len(posted(story)) == 1


@pytest.mark.parametrize("error", ["message_not_found", "cant_update_message"])
def test_a_card_that_cannot_be_updated_any_more_is_reported(story: SlackStory, error: str) -> None:
    approval = waiting(story)
    ref = post(story, approval)
    fault(story, "chat.update", error=error)
    assert update(story, approval, ref) == Delivered(lost_refs=(ref,))


def test_a_copy_in_a_closed_channel_is_left_alone_and_one_that_closes_is_reported(
    story: SlackStory,
) -> None:
    approval = waiting(story)
    left = post(story, approval, channel=ONCALL)
    shut, last = post(story, approval), post(story, approval, channel=REVIEW)
    fault(story, "chat.update", error="is_archived")
    answer = update(story, approval, left, shut, last, closed=frozenset({ONCALL}))
    assert answer == Delivered(closed=((APPROVALS, "is_archived"),))
    assert not message(story, left)["edited"]
    assert message(story, last)["edited"]


def test_every_copy_that_earlier_tries_left_is_found_wherever_it_is(story: SlackStory) -> None:
    approval = waiting(story)
    copies = {post(story, approval), post(story, approval), post(story, approval, channel=ONCALL)}
    answer = story.sender.deliver(delivery(story, approval, ambiguous=True))
    assert isinstance(answer, Delivered)
    assert set(answer.refs) == copies
    assert len(posted(story)) == 2


def test_a_link_that_slack_does_not_give_costs_nothing_else(story: SlackStory) -> None:
    approval = story.parks()
    fault(story, "chat.getPermalink", error="internal_error", times=3)
    story.clicks("ana", approval, "approval_edit")
    story.model.says("It is paid.")
    story.submits("ana", amount="100.00")
    successor = story.approval(approval.id).superseded_by
    assert successor is not None
    old, new = story.card(approval), story.card(story.approval(successor))
    assert successor in json.dumps(old["blocks"])
    assert "Approved and paid" in json.dumps(new["blocks"])


def test_an_update_that_must_wait_waits(story: SlackStory) -> None:
    approval = waiting(story)
    ref = post(story, approval)
    fault(story, "chat.update", error="ratelimited", retry_after=3)
    assert update(story, approval, ref) == Limited("ratelimited", 3.0, ambiguous=False)


# --- everything else


def test_a_line_for_a_thread_that_is_gone_or_out_of_reach_is_a_message_of_its_own(
    story: SlackStory,
) -> None:
    approval = waiting(story)
    gone, shut = post(story, approval), post(story, approval, channel=ONCALL)
    story.slack.client.chat_delete(channel=gone.channel, ts=gone.ts)
    line = delivery(
        story,
        approval,
        kind=DeliveryKind.THREAD,
        refs=(gone, shut),
        closed=frozenset({ONCALL}),
        body={"status": "expired"},
    )
    assert story.sender.deliver(line) == Delivered()
    (said,) = posted(story)
    assert said["thread_ts"] is None
    assert "expired" in said["text"]


def test_a_note_whose_blocks_are_refused_says_the_same_in_plain_text(story: SlackStory) -> None:
    fault(story, "chat.postMessage", error="invalid_blocks")
    body: Payload = {"customer": "cus_clara", "reason": "<@U1> has *no* idea", "words": ["Hello"]}
    told = delivery(story, None, kind=DeliveryKind.HAND_OFF, body=body)
    assert story.sender.deliver(told) == Delivered(complaint="invalid_blocks")
    (found,) = posted(story)
    (block,) = found["blocks"]
    assert block["text"]["type"] == "plain_text"
    # As Slack keeps it: escaped once, so that people read what was written.
    for said in ("cus_clara", "&lt;@U1&gt; has *no* idea", "Hello"):
        assert said in block["text"]["text"]


def test_whether_slack_and_a_channel_are_well_is_seen_at_a_look(story: SlackStory) -> None:
    assert (story.sender.pulse(), story.sender.look(APPROVALS)) == (Well(), Well())
    fault(story, "auth.test", error="token_revoked")
    assert story.sender.pulse() == NotAuthorized("token_revoked")
    fault(story, "auth.test", status=503)
    assert isinstance(story.sender.pulse(), Unreachable)
    assert story.sender.look("C404") == ChannelClosed("channel_not_found", "C404")


def test_a_thread_line_is_not_repeated_when_its_answer_was_lost(story: SlackStory) -> None:
    approval = waiting(story)
    ref = post(story, approval)
    line = delivery(
        story, approval, kind=DeliveryKind.THREAD, refs=(ref,), body={"status": "expired"}
    )
    assert story.sender.deliver(line) == Delivered()
    assert story.sender.deliver(replace(line, ambiguous=True)) == Delivered()
    (said,) = (m for m in posted(story) if m["thread_ts"] == ref.ts)
    assert "expired" in said["text"]


def whisper(story: SlackStory, **body: str) -> DeliveryAnswer:
    filled: Payload = {"channel": APPROVALS, "text": "Too late <!here> *now*.", **body}
    return story.sender.deliver(delivery(story, None, kind=DeliveryKind.EPHEMERAL, body=filled))


def test_a_private_answer_is_literal_and_for_one_person(story: SlackStory) -> None:
    assert whisper(story, user="U07ANARIBEI") == Delivered()
    (found,) = posted(story)
    assert found["ephemeral_for"] == "U07ANARIBEI"
    assert found["text"] == "Too late &lt;!here&gt; *now*."
    assert found["blocks"][0]["text"]["type"] == "plain_text"


@pytest.mark.parametrize("channel", [APPROVALS, ""])
def test_somebody_who_is_not_in_the_channel_reads_it_as_a_direct_message(
    story: SlackStory, channel: str
) -> None:
    fault(story, "chat.postEphemeral", error="user_not_in_channel")
    assert whisper(story, user="U07ANARIBEI", channel=channel) == Delivered()
    (found,) = posted(story, "D07ANARIBEI")
    assert "Too late" in found["text"]


def test_a_hand_off_goes_to_the_people_of_the_approvals(story: SlackStory) -> None:
    body: Payload = {
        "conversation_id": "cnv_1",
        "customer": "cus_clara",
        "reason": "wants <https://evil.example|store credit>",
        "words": ["Hello", "Can I have *store credit*?"],
    }
    answer = story.sender.deliver(delivery(story, None, kind=DeliveryKind.HAND_OFF, body=body))
    assert answer == Delivered()
    (found,) = posted(story)
    assert "Can I have *store credit*?" in json.dumps(found["blocks"])
    assert "cus_clara" in found["text"]


def test_a_hand_off_of_long_words_still_fits(story: SlackStory) -> None:
    body: Payload = {
        "conversation_id": "cnv_1",
        "customer": "&" * 4_000,
        "reason": "&" * 4_000,
        "words": ["&" * 4_000] * 3,
    }
    answer = story.sender.deliver(delivery(story, None, kind=DeliveryKind.HAND_OFF, body=body))
    assert answer == Delivered()
    assert len(posted(story)) == 1


# --- reviews


def reviewed(story: SlackStory, **changes: Any) -> Delivery:
    """Return the posting of a review of a request that is looked back at."""
    approval = waiting(story)
    with story.desk.store.transaction() as tx:
        reviews.ask(tx, approval.id, approval.customer_id, "share", story.clock.now())
    return delivery(story, approval, kind=DeliveryKind.REVIEW, **changes)


def test_a_review_goes_to_its_own_channel_and_is_found_again(story: SlackStory) -> None:
    asked = reviewed(story)
    answer = story.sender.deliver(asked)
    assert isinstance(answer, Delivered)
    (ref,) = answer.refs
    assert ref.channel == REVIEW
    assert "Picked by chance" in json.dumps(message(story, ref)["blocks"])
    assert story.sender.deliver(replace(asked, ambiguous=True)) == Delivered((ref,))
    assert len(posted(story, REVIEW)) == 1


def test_every_copy_of_a_review_is_redrawn_and_a_lost_one_reported(story: SlackStory) -> None:
    asked = reviewed(story)
    refs: list[MessageRef] = []
    for number in range(3):
        answer = story.sender.deliver(replace(asked, outbox_id=f"out_{number}"))
        assert isinstance(answer, Delivered)
        refs += answer.refs
    story.slack.client.chat_delete(channel=REVIEW, ts=refs[1].ts)
    update = replace(asked, kind=DeliveryKind.REVIEW_UPDATE, refs=tuple(refs))
    assert story.sender.deliver(update) == Delivered(lost_refs=(refs[1],))
    assert all(message(story, ref)["edited"] for ref in (refs[0], refs[2]))
    assert len(posted(story, REVIEW)) == 2


def test_a_review_update_that_must_wait_waits(story: SlackStory) -> None:
    asked = reviewed(story)
    fault(story, "chat.update", error="ratelimited", retry_after=4)
    refs = (MessageRef(REVIEW, "1.0"),)
    update = replace(asked, kind=DeliveryKind.REVIEW_UPDATE, refs=refs)
    assert story.sender.deliver(update) == Limited("ratelimited", 4.0, ambiguous=False)


# --- alerts


def alarm(story: SlackStory, **changes: Any) -> Delivery:
    """Return the posting of an alert about Slack."""
    body: Payload = {"text": "The bot was removed."}
    alert = Alert("slack:C1", AlertKind.SLACK_TROUBLE, None, body, story.clock.now())
    told = delivery(story, None, kind=DeliveryKind.ALERT, body={"subject": alert.subject})
    return replace(told, alert=alert, **changes)


def test_an_alert_goes_to_the_people_on_call_once_and_is_found_as_it_is_now(
    story: SlackStory,
) -> None:
    told = alarm(story)
    answer = story.sender.deliver(told)
    assert isinstance(answer, Delivered)
    assert told.alert is not None
    over = replace(told.alert, ended="It is back.", ended_at=story.clock.now())
    again = replace(told, ambiguous=True, alert=over)
    assert story.sender.deliver(again) == answer
    (found,) = posted(story, ONCALL)
    assert "It is back." in json.dumps(found["blocks"])
    assert action_ids(found) == []


def test_every_copy_of_an_alert_is_redrawn_and_lost_ones_are_reported(
    story: SlackStory,
) -> None:
    told = alarm(story)
    update = replace(told, kind=DeliveryKind.ALERT_UPDATE)
    refs = [ref for n in (1, 2) for ref in posted_refs(story, replace(told, outbox_id=f"out_{n}"))]
    story.slack.client.chat_delete(channel=ONCALL, ts=refs[0].ts)
    half = replace(update, refs=tuple(refs))
    assert story.sender.deliver(half) == Delivered(lost_refs=(refs[0],))
    assert message(story, refs[1])["edited"]
    story.slack.client.chat_delete(channel=ONCALL, ts=refs[1].ts)
    assert told.alert is not None
    over = replace(half, alert=replace(told.alert, ended="Over.", ended_at=story.clock.now()))
    for one in (over, half):
        assert story.sender.deliver(one) == Delivered(lost_refs=tuple(refs))


def test_news_of_an_alert_stand_in_its_thread_once(story: SlackStory) -> None:
    told = alarm(story)
    (root,) = posted_refs(story, told)
    line = replace(told, kind=DeliveryKind.ALERT_LINE, refs=(root,), body={"text": "It is worse."})
    for one in (line, replace(line, ambiguous=True)):
        assert story.sender.deliver(one) == Delivered()
    _, news = posted(story, ONCALL)
    assert (news["thread_ts"], news["text"]) == (root.ts, "🚨 It is worse.")


def posted_refs(story: SlackStory, told: Delivery) -> tuple[MessageRef, ...]:
    answer = story.sender.deliver(told)
    assert isinstance(answer, Delivered)
    return answer.refs
