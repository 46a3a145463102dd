"""What people do in the stand-in, and what the bot is sent and may answer."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastapi import Response
from fastapi.responses import JSONResponse
from slack_sdk.signature import Clock, SignatureVerifier
from slack_sdk.webhook import WebhookClient
from typing_extensions import override

from bot.sandbox.cast import ANA, BEN, CHANNELS, MIA
from bot.sandbox.slack_config import Channel
from bot.sandbox.slack_triggers import TriggerRefused, Triggers
from tests.support.slack_sandbox import (
    APPROVALS,
    ONCALL,
    SIGNING_SECRET,
    Bot,
    Slack,
    Stage,
    address,
    listening_socket,
    running_slack,
    running_stage,
)


def text(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words}


def option(value: str) -> dict[str, Any]:
    return {"text": text(value.title()), "value": value}


APPROVE = {
    "type": "button",
    "action_id": "approve",
    "style": "primary",
    "text": text("Yes & pay"),
    "value": "apr_1",
}
CATEGORY = {
    "type": "static_select",
    "action_id": "category",
    "options": [option("damaged"), option("late")],
}
BOXES = {
    "type": "checkboxes",
    "action_id": "boxes",
    "options": [option("one"), option("two")],
    "initial_options": [option("two")],
}
DAY = {"type": "datepicker", "action_id": "day", "initial_date": "2026-11-29"}
CARD: list[dict[str, Any]] = [
    {"type": "section", "block_id": "head", "text": text("Refund"), "accessory": CATEGORY},
    {"type": "actions", "block_id": "act:apr_1:1", "elements": [APPROVE, BOXES, DAY]},
]


def field(name: str, element: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {"type": "input", "block_id": name, "label": text(name), "element": element, **fields}


AMOUNT = {
    "type": "number_input",
    "action_id": "amount",
    "is_decimal_allowed": True,
    "min_value": "0.01",
    "max_value": "160.00",
    "initial_value": "160.00",
}
REASON = {
    "type": "plain_text_input",
    "action_id": "reason",
    "min_length": 5,
    "max_length": 20,
}
PIECES = {"type": "number_input", "action_id": "pieces", "is_decimal_allowed": False}
CHOICE = {"type": "radio_buttons", "action_id": "choice", "options": [option("a"), option("b")]}
WHEN = {"type": "datepicker", "action_id": "when"}
MODAL: dict[str, Any] = {
    "type": "modal",
    "callback_id": "edit",
    "title": text("Edit <b>"),
    "submit": text("Save"),
    "private_metadata": "apr_1",
    "notify_on_close": True,
    "blocks": [
        field("amount-block", AMOUNT),
        field("reason-block", REASON),
        field("pieces-block", PIECES, optional=True),
        field("choice-block", CHOICE, optional=True),
        field("when-block", WHEN, optional=True),
        {"type": "actions", "block_id": "row 1", "elements": [{**APPROVE, "value": "1"}]},
        {"type": "actions", "block_id": "row 2", "elements": [{**APPROVE, "value": "2"}]},
    ],
}
FILLED = {"amount-block": "12.50", "reason-block": {"reason": "too much"}}


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.fixture(scope="module")
def bot_stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.fixture
def bot(bot_stage: Stage) -> Bot:
    bot = Bot()
    bot_stage.app = bot.app()
    return bot


@pytest.fixture
def slack(stage: Stage, bot_stage: Stage, bot: Bot, tmp_path: Path) -> Iterator[Slack]:
    quiet = Channel("C07QUIET", "quiet", (BEN.slack_user_id,))
    url = f"{bot_stage.url}/slack/events"
    with running_slack(stage, tmp_path, url, channels=(*CHANNELS, quiet)) as slack:
        assert bot.received == []
        yield slack


def click(slack: Slack, ts: str, action_id: str = "approve", **more: Any) -> dict[str, Any]:
    body = {"user": "ana", "channel": APPROVALS, "ts": ts, "action_id": action_id, **more}
    return dict(slack.act("/click", **body))


def opened(slack: Slack, bot: Bot, view: dict[str, Any] = MODAL) -> str:
    """Return the id of a modal that ana opened with a click."""
    click(slack, slack.post(blocks=CARD))
    trigger_id = bot.payload["trigger_id"]
    return str(slack.client.views_open(trigger_id=trigger_id, view=view)["view"]["id"])


def submit(slack: Slack, view_id: str, **more: Any) -> dict[str, Any]:
    body = {"user": "ana", "view_id": view_id, "values": FILLED, **more}
    return dict(slack.act("/submit", **body))


def stack(slack: Slack) -> list[dict[str, Any]]:
    return list(slack.look("/views", user="ana"))


def problem_of(slack: Slack, path: str, status: int, **body: object) -> dict[str, Any]:
    problem = slack.act(path, status, **body)
    assert problem["status"] == status
    return dict(problem)


# Clicks


def test_a_click_is_a_signed_block_actions_payload(slack: Slack, bot: Bot) -> None:
    ts = slack.post(blocks=CARD, text="a & b")
    answer = click(slack, ts)
    assert (answer["status"], answer["body"], answer["problem"]) == (200, "", None)
    payload = bot.payload
    (message,) = slack.look("/messages", channel=APPROVALS)
    ours = ("type", "team", "user", "api_app_id", "enterprise", "is_enterprise_install")
    assert {name: payload[name] for name in ours} == {
        "type": "block_actions",
        "team": {"id": slack.config.team_id, "domain": slack.config.team_domain},
        "user": {
            "id": ANA.slack_user_id,
            "username": "ana",
            "name": "ana",
            "team_id": slack.config.team_id,
        },
        "api_app_id": slack.config.app_id,
        "enterprise": None,
        "is_enterprise_install": False,
    }
    assert payload["container"] == {
        "type": "message",
        "message_ts": ts,
        "channel_id": APPROVALS,
        "is_ephemeral": False,
    }
    assert payload["channel"] == {"id": APPROVALS, "name": "refund-approvals"}
    assert payload["message"]["text"] == "a &amp; b"
    assert payload["message"]["blocks"] == message["blocks"]
    (action,) = payload["actions"]
    assert action.pop("action_ts") > ts
    assert action == {
        "type": "button",
        "action_id": "approve",
        "block_id": "act:apr_1:1",
        "style": "primary",
        "text": text("Yes &amp; pay"),
        "value": "apr_1",
    }


def test_the_signature_is_the_one_slack_makes(slack: Slack, bot: Bot) -> None:
    click(slack, slack.post(blocks=CARD))

    class Then(Clock):
        @override
        def now(self) -> float:
            return slack.clock.at.timestamp()

    request, body = bot.received[-1], bot.bodies[-1]
    headers = dict(request.headers)
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert SignatureVerifier(SIGNING_SECRET, Then()).is_valid_request(body, headers)
    assert not SignatureVerifier("another secret", Then()).is_valid_request(body, headers)
    assert not SignatureVerifier(SIGNING_SECRET, Then()).is_valid_request(body + b"x", headers)


def test_the_state_holds_every_input_of_the_message(slack: Slack, bot: Bot) -> None:
    click(slack, slack.post(blocks=CARD), values={"category": "late", "day": "2026-12-24"})
    assert bot.payload["state"]["values"] == {
        "head": {"category": {"type": "static_select", "selected_option": option("late")}},
        "act:apr_1:1": {
            "boxes": {"type": "checkboxes", "selected_options": [option("two")]},
            "day": {"type": "datepicker", "selected_date": "2026-12-24"},
        },
    }


@pytest.mark.parametrize(
    ("action_id", "value", "chosen"),
    [
        ("category", "late", {"selected_option": option("late")}),
        ("category", "forged", {"selected_option": {"text": text("forged"), "value": "forged"}}),
        ("category", None, {"selected_option": None}),
        ("boxes", ["one", "two"], {"selected_options": [option("one"), option("two")]}),
        ("boxes", None, {"selected_options": [option("two")]}),
        ("day", "2026-12-24", {"selected_date": "2026-12-24"}),
    ],
    ids=str,
)
def test_a_choice_is_sent_as_its_element_sends_it(
    slack: Slack, bot: Bot, action_id: str, value: object, chosen: dict[str, Any]
) -> None:
    click(slack, slack.post(blocks=CARD), action_id, value=value)
    (action,) = bot.payload["actions"]
    assert {name: action[name] for name in chosen} == chosen


def test_a_click_can_be_forged(slack: Slack, bot: Bot) -> None:
    ts = slack.post(blocks=CARD)
    click(slack, ts, value="apr_2")
    assert bot.payload["actions"][0]["value"] == "apr_2"
    click(slack, ts, "pay_me", value="all", block_id="act:apr_1:1")
    (action,) = bot.payload["actions"]
    del action["action_ts"]
    assert action == {
        "type": "button",
        "action_id": "pay_me",
        "block_id": "act:apr_1:1",
        "value": "all",
    }


def test_a_click_in_a_thread_names_it(slack: Slack, bot: Bot) -> None:
    root = slack.post()
    click(slack, slack.post(thread_ts=root, blocks=CARD))
    assert bot.payload["container"]["thread_ts"] == root
    assert bot.payload["message"]["thread_ts"] == root


def test_only_its_reader_can_click_an_ephemeral(slack: Slack, bot: Bot) -> None:
    ts = slack.client.chat_postEphemeral(
        channel=APPROVALS, user=ANA.slack_user_id, text="x", blocks=CARD
    )["message_ts"]
    click(slack, ts)
    assert bot.payload["container"]["is_ephemeral"] is True
    assert "message" not in bot.payload
    own = {"channel": APPROVALS, "ts": ts, "action_id": "approve"}
    assert problem_of(slack, "/click", 404, user="ben", **own)["code"] == "message_not_found"


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"user": "nobody"}, 404, "user_not_found"),
        ({"channel": "nowhere"}, 404, "channel_not_found"),
        ({"channel": None}, 404, "channel_not_found"),
        ({"channel": "quiet"}, 403, "not_in_channel"),
        ({"ts": "1.2"}, 404, "message_not_found"),
        ({"view_id": "V1"}, 404, "view_not_found"),
        ({"values": {"nothing": "x"}}, 422, "invalid_input"),
        ({"action_id": ""}, 422, "invalid"),
        ({"colour": "red"}, 422, "invalid"),
    ],
    ids=str,
)
def test_a_click_on_nothing_is_refused(
    slack: Slack, bot: Bot, change: dict[str, Any], status: int, code: str
) -> None:
    body = {"user": "ana", "channel": APPROVALS, "ts": slack.post(blocks=CARD)}
    problem = problem_of(slack, "/click", status, **{**body, "action_id": "approve", **change})
    assert problem["code"] == code
    assert bot.received == []


def test_what_the_bot_answers_is_told(slack: Slack, bot: Bot) -> None:
    bot.reply = lambda _: Response("no such approval", 404)
    answer = click(slack, slack.post(blocks=CARD))
    assert (answer["status"], answer["body"]) == (404, "no such approval")
    assert answer["problem"] == "We had some trouble connecting. Try again?"


def test_a_bot_that_is_not_there_has_status_0(stage: Stage, tmp_path: Path) -> None:
    listener = listening_socket()
    url = address(listener)
    listener.close()
    with running_slack(stage, tmp_path, f"{url}/slack/events") as slack:
        answer = click(slack, slack.post(blocks=CARD))
    assert answer["status"] == 0
    assert answer["body"] not in ("", "timeout")


def test_a_bot_that_does_not_answer_in_time_is_given_up(stage: Stage, tmp_path: Path) -> None:
    # This socket takes the connection and never says a word.
    with listening_socket() as silent:
        url = f"{address(silent)}/slack/events"
        with running_slack(stage, tmp_path, url, ack_timeout_s=0.05) as slack:
            answer = click(slack, slack.post(blocks=CARD))
    assert (answer["status"], answer["body"]) == (0, "timeout")


# Trigger ids


def test_a_click_opens_one_modal_of_that_person(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    (view,) = stack(slack)
    assert (view["id"], view["root_view_id"], view["previous_view_id"]) == (view_id, view_id, None)
    assert (view["callback_id"], view["private_metadata"]) == ("edit", "apr_1")
    assert view["title"] == text("Edit &lt;b&gt;")
    assert slack.look("/views", user="ben") == []


def test_a_trigger_is_used_once(slack: Slack, bot: Bot) -> None:
    opened(slack, bot)
    again = slack.error_code("views.open", trigger_id=bot.payload["trigger_id"], view=MODAL)
    assert again == "exchanged_trigger_id"


@pytest.mark.parametrize(("seconds", "error"), [(2.999, None), (3.0, "expired_trigger_id")])
def test_a_trigger_lasts_three_seconds(
    slack: Slack, bot: Bot, seconds: float, error: str | None
) -> None:
    click(slack, slack.post(blocks=CARD))
    slack.ticks.seconds += seconds
    trigger = {"trigger_id": bot.payload["trigger_id"], "view": MODAL}
    if error:
        assert slack.error_code("views.open", **trigger) == error
    else:
        assert slack.client.views_open(**trigger)["ok"]


def test_a_view_that_is_refused_does_not_use_the_trigger(slack: Slack, bot: Bot) -> None:
    click(slack, slack.post(blocks=CARD))
    trigger_id = bot.payload["trigger_id"]
    broken = {**MODAL, "submit": text("x" * 25)}
    assert slack.error_code("views.open", trigger_id=trigger_id, view=broken) == "invalid_arguments"
    assert slack.client.views_open(trigger_id=trigger_id, view=MODAL)["ok"]


def test_the_oldest_of_a_thousand_triggers_is_forgotten() -> None:
    numbers = count()
    triggers = Triggers(lambda: 0.0, lambda: str(next(numbers)))
    given = [triggers.give("U1") for _ in range(1_001)]
    assert triggers.owner(given[1]) == "U1"
    with pytest.raises(TriggerRefused, match="invalid_trigger_id"):
        triggers.owner(given[0])


# Modals


def test_a_modal_is_updated_unless_it_changed_meanwhile(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    (before,) = stack(slack)
    changed = {**MODAL, "private_metadata": "apr_2", "external_id": "edit-apr-2"}
    after = slack.client.views_update(view_id=view_id, view=changed, hash=before["hash"])["view"]
    assert (after["id"], after["private_metadata"]) == (view_id, "apr_2")
    stale = slack.error_code("views.update", view_id=view_id, view=MODAL, hash=before["hash"])
    assert stale == "hash_conflict"
    by_name = slack.client.views_update(external_id="edit-apr-2", view=changed)["view"]
    assert by_name["id"] == view_id


def test_an_external_id_is_taken_once(slack: Slack, bot: Bot) -> None:
    named = {**MODAL, "external_id": "only-one"}
    opened(slack, bot, named)
    click(slack, slack.post(blocks=CARD))
    second = slack.error_code("views.open", trigger_id=bot.payload["trigger_id"], view=named)
    assert second == "duplicate_external_id"


def test_two_views_can_be_pushed_onto_a_modal(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    ids = [view_id]
    for _ in range(2):
        slack.act("/click", user="ana", view_id=ids[-1], action_id="approve")
        trigger_id = bot.payload["trigger_id"]
        ids.append(slack.client.views_push(trigger_id=trigger_id, view=MODAL)["view"]["id"])
    views = stack(slack)
    assert [view["id"] for view in views] == ids
    assert [view["previous_view_id"] for view in views] == [None, ids[0], ids[1]]
    assert {view["root_view_id"] for view in views} == {view_id}
    slack.act("/click", user="ana", view_id=ids[-1], action_id="approve")
    fourth = slack.error_code("views.push", trigger_id=bot.payload["trigger_id"], view=MODAL)
    assert fourth == "push_limit_reached"
    buried = problem_of(slack, "/submit", 409, user="ana", view_id=view_id, values=FILLED)
    assert buried["code"] == "view_not_on_top"


def test_nothing_is_pushed_where_no_modal_is_open(slack: Slack, bot: Bot) -> None:
    click(slack, slack.post(blocks=CARD))
    code = slack.error_code("views.push", trigger_id=bot.payload["trigger_id"], view=MODAL)
    assert code == "not_found"


def test_a_click_in_a_modal_names_its_row(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    own = {"user": "ana", "view_id": view_id, "action_id": "approve"}
    slack.act("/click", **own, value="2")
    payload = bot.payload
    assert payload["container"] == {"type": "view", "view_id": view_id}
    assert payload["actions"][0]["block_id"] == "row 2"
    assert payload["view"]["state"]["values"]["amount-block"]["amount"]["value"] == "160.00"
    assert "response_url" not in payload
    slack.act("/click", **own, block_id="row 1")
    assert bot.payload["actions"][0]["value"] == "1"


def test_a_submission_carries_what_was_entered(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    answer = submit(slack, view_id, values={**FILLED, "choice": "b", "when": "2026-12-24"})
    assert (answer["status"], answer["response_action"], answer["problem"]) == (200, None, None)
    payload = bot.payload
    assert (payload["type"], payload["response_urls"]) == ("view_submission", [])
    assert not {"channel", "message", "response_url"} & payload.keys()
    assert payload["view"]["private_metadata"] == "apr_1"
    assert payload["view"]["state"]["values"] == {
        "amount-block": {"amount": {"type": "number_input", "value": "12.50"}},
        "reason-block": {"reason": {"type": "plain_text_input", "value": "too much"}},
        "pieces-block": {"pieces": {"type": "number_input", "value": None}},
        "choice-block": {"choice": {"type": "radio_buttons", "selected_option": option("b")}},
        "when-block": {"when": {"type": "datepicker", "selected_date": "2026-12-24"}},
    }
    assert stack(slack) == []
    assert (
        problem_of(slack, "/submit", 404, user="ana", view_id=view_id)["code"] == "view_not_found"
    )


@pytest.mark.parametrize(
    ("values", "block"),
    [
        ({"reason-block": None}, "reason-block"),
        ({"reason-block": ""}, "reason-block"),
        ({"reason-block": "four"}, "reason-block"),
        ({"reason-block": "x" * 21}, "reason-block"),
        ({"amount-block": ""}, "amount-block"),
        ({"amount-block": "NaN"}, "amount-block"),
        ({"amount-block": "1e3"}, "amount-block"),
        ({"amount-block": 0}, "amount-block"),
        ({"amount-block": "160.01"}, "amount-block"),
        ({"pieces-block": "1.5"}, "pieces-block"),
        ({"choice-block": "c"}, "choice-block"),
        ({"when-block": "2026-13-01"}, "when-block"),
        ({"nothing": "x"}, "nothing"),
    ],
    ids=str,
)
def test_slack_does_not_submit_what_its_inputs_forbid(
    slack: Slack, bot: Bot, values: dict[str, Any], block: str
) -> None:
    view_id = opened(slack, bot)
    sent = len(bot.received)
    merged = {**FILLED, **values}
    problem = problem_of(slack, "/submit", 422, user="ana", view_id=view_id, values=merged)
    assert problem["code"] == "invalid_input"
    assert list(problem["errors"]) == [block]
    assert block in problem["detail"]
    assert len(bot.received) == sent
    assert len(stack(slack)) == 1


@pytest.mark.parametrize("amount", ["0.01", "160.00", 12.5])
def test_the_ends_of_a_range_are_submitted(slack: Slack, bot: Bot, amount: object) -> None:
    values = {"amount-block": amount, "reason-block": "x" * 5}
    assert submit(slack, opened(slack, bot), values=values)["status"] == 200


def test_a_submission_can_be_forged(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    submit(slack, view_id, values={"amount-block": "NaN"}, force=True)
    values = bot.payload["view"]["state"]["values"]
    assert values["amount-block"]["amount"]["value"] == "NaN"
    assert values["reason-block"]["reason"]["value"] is None


def test_errors_stay_beside_their_inputs(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    errors = {"amount-block": "More than is left."}
    bot.reply = lambda _: JSONResponse({"response_action": "errors", "errors": errors})
    answer = submit(slack, view_id)
    assert (answer["response_action"], answer["errors"], answer["problem"]) == (
        "errors",
        errors,
        None,
    )
    assert [view["id"] for view in stack(slack)] == [view_id]


@pytest.mark.parametrize("answer", [Response(), Response(" \n"), JSONResponse({})])
def test_an_ack_that_says_nothing_closes_the_modal(
    slack: Slack, bot: Bot, answer: Response
) -> None:
    view_id = opened(slack, bot)
    bot.reply = lambda _: answer
    assert submit(slack, view_id)["problem"] is None
    assert stack(slack) == []


def test_an_answer_cannot_push_a_fourth_view(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    told = {"type": "modal", "title": text("More"), "blocks": []}
    bot.reply = lambda _: JSONResponse({"response_action": "push", "view": told})
    submit(slack, view_id)
    submit(slack, stack(slack)[-1]["id"], values={})
    answer = submit(slack, stack(slack)[-1]["id"], values={})
    assert "no more than 3 views" in answer["problem"]
    assert len(stack(slack)) == 3


def test_an_answer_may_update_push_or_clear(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    (before,) = stack(slack)
    told = {"type": "modal", "title": text("Late"), "blocks": []}
    bot.reply = lambda _: JSONResponse({"response_action": "update", "view": told})
    assert submit(slack, view_id)["response_action"] == "update"
    (updated,) = stack(slack)
    assert (updated["id"], updated["title"]) == (view_id, text("Late"))
    assert updated["hash"] != before["hash"]
    bot.reply = lambda _: JSONResponse({"response_action": "push", "view": told})
    assert submit(slack, view_id, values={})["response_action"] == "push"
    assert len(stack(slack)) == 2
    bot.reply = lambda _: JSONResponse({"response_action": "clear"})
    assert submit(slack, stack(slack)[-1]["id"], values={})["response_action"] == "clear"
    assert stack(slack) == []


@pytest.mark.parametrize(
    "answer",
    [
        Response("ok"),
        JSONResponse("ok"),
        JSONResponse({"response_action": "celebrate"}),
        JSONResponse({"response_action": "errors", "errors": {"row 1": "not an input"}}),
        JSONResponse({"response_action": "errors", "errors": {"amount": "an action_id"}}),
        JSONResponse({"response_action": "errors", "errors": {}}),
        JSONResponse({"response_action": "errors", "errors": {"amount-block": ""}}),
        JSONResponse({"response_action": "update", "view": {"type": "home", "blocks": []}}),
        JSONResponse({"response_action": "push"}),
        Response(status_code=500),
    ],
    ids=lambda answer: f"{answer.status_code} {answer.body.decode()}",
)
def test_an_answer_that_slack_does_not_understand_leaves_the_modal(
    slack: Slack, bot: Bot, answer: Response
) -> None:
    view_id = opened(slack, bot)
    bot.reply = lambda _: answer
    told = submit(slack, view_id)
    assert told["problem"].startswith("We had some trouble connecting. Try again?")
    assert [view["id"] for view in stack(slack)] == [view_id]


def test_an_update_of_a_modal_that_the_bot_replaced_is_a_problem(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    told = {"type": "modal", "title": text("Other"), "blocks": []}

    def replace_it(payload: dict[str, Any]) -> Response:
        slack.client.views_open(trigger_id=payload["trigger_id"], view=told)
        return JSONResponse({"response_action": "update", "view": told})

    bot.reply = replace_it
    assert "closed meanwhile" in submit(slack, view_id)["problem"]
    (left,) = stack(slack)
    assert left["id"] != view_id


def test_closing_is_told_only_to_who_asked(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    answer = slack.act("/close", user="ana", view_id=view_id)
    assert answer["closed"] == [view_id]
    assert [one["status"] for one in answer["answers"]] == [200]
    assert (bot.payload["type"], bot.payload["is_cleared"]) == ("view_closed", False)
    assert stack(slack) == []
    quiet = opened(slack, bot, {**MODAL, "notify_on_close": False})
    assert slack.act("/close", user="ana", view_id=quiet) == {"closed": [quiet], "answers": []}


def test_closing_all_tells_of_each_view(slack: Slack, bot: Bot) -> None:
    view_id = opened(slack, bot)
    slack.act("/click", user="ana", view_id=view_id, action_id="approve")
    trigger_id = bot.payload["trigger_id"]
    top = slack.client.views_push(trigger_id=trigger_id, view=MODAL)["view"]["id"]
    answer = slack.act("/close", user="ana", view_id=top, clear=True)
    assert answer["closed"] == [view_id, top]
    assert bot.payload["is_cleared"] is True
    assert len(answer["answers"]) == 2
    assert stack(slack) == []


# Response URLs


def responder(slack: Slack, bot: Bot, ts: str) -> WebhookClient:
    click(slack, ts)
    return WebhookClient(bot.payload["response_url"])


def test_a_response_url_answers_the_person_who_clicked(slack: Slack, bot: Bot) -> None:
    answered = responder(slack, bot, slack.post(blocks=CARD)).send(text="not you")
    assert (answered.status_code, answered.body) == (200, "ok")
    message = slack.look("/messages", channel=APPROVALS)[-1]
    assert (message["text"], message["ephemeral_for"]) == ("not you", ANA.slack_user_id)


def test_a_response_url_can_answer_everybody(slack: Slack, bot: Bot) -> None:
    responder(slack, bot, slack.post(blocks=CARD)).send(text="x", response_type="in_channel")
    assert slack.look("/messages", channel=APPROVALS)[-1]["ephemeral_for"] is None


@pytest.mark.parametrize("ephemeral", [False, True])
def test_a_response_url_replaces_and_deletes_its_message(
    slack: Slack,
    bot: Bot,
    ephemeral: bool,
) -> None:
    if ephemeral:
        ts = slack.client.chat_postEphemeral(
            channel=APPROVALS, user=ANA.slack_user_id, text="x", blocks=CARD
        )["message_ts"]
    else:
        ts = slack.post(blocks=CARD)
    url = responder(slack, bot, ts)
    assert url.send(text="replaced", replace_original=True).status_code == 200
    (message,) = slack.look("/messages", channel=APPROVALS)
    assert (message["ts"], message["text"], message["blocks"]) == (ts, "replaced", [])
    for _ in "12":
        assert url.send(delete_original=True).status_code == 200
        assert slack.look("/messages", channel=APPROVALS) == []


def test_a_response_url_does_not_count_all_text_together(slack: Slack, bot: Bot) -> None:
    long = [{"type": "section", "text": text("x" * 3_000)}] * 5
    url = responder(slack, bot, slack.post(blocks=CARD))
    assert url.send(blocks=long).status_code == 200


def test_a_response_url_is_used_five_times(slack: Slack, bot: Bot) -> None:
    url = responder(slack, bot, slack.post(blocks=CARD))
    answers = [url.send(text=str(number)) for number in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert json.loads(answers[-1].body)["error"] == "used_url"


@pytest.mark.parametrize(("seconds", "status"), [(1_799, 200), (1_800, 404)])
def test_a_response_url_lasts_thirty_minutes(
    slack: Slack, bot: Bot, seconds: int, status: int
) -> None:
    url = responder(slack, bot, slack.post(blocks=CARD))
    slack.clock.advance(seconds=seconds)
    assert url.send(text="x").status_code == status


def test_expired_response_urls_are_forgotten(slack: Slack, bot: Bot) -> None:
    old = responder(slack, bot, slack.post(blocks=CARD))
    slack.clock.advance(seconds=timedelta(minutes=31).total_seconds())
    assert responder(slack, bot, slack.post(blocks=CARD)).send(text="x").status_code == 200
    assert json.loads(old.send(text="x").body)["error"] == "expired_url"
    assert slack.config.journal.read_text().count('["hooks",') == 4


@pytest.mark.parametrize(
    ("body", "error"),
    [(b"{", "invalid_payload"), (b"[]", "invalid_payload"), (b"{}", "no_text")],
)
def test_a_response_that_says_nothing_is_refused(
    slack: Slack, bot: Bot, body: bytes, error: str
) -> None:
    url = responder(slack, bot, slack.post(blocks=CARD)).url
    headers = {"Content-Type": "application/json"}
    answer = slack.http.post(url, content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


# Commands, Home, messages


def test_a_command_is_sent_as_a_form(slack: Slack, bot: Bot) -> None:
    slack.act("/command", user="mia", command="/refunds", text="show <apr_1> for @ana, not @zoe")
    assert bot.payload["command"] == "/refunds"
    assert bot.payload["text"] == (f"show &lt;apr_1&gt; for <@{ANA.slack_user_id}|ana>, not @zoe")
    assert bot.payload["user_id"] == MIA.slack_user_id
    assert (bot.payload["channel_id"], bot.payload["channel_name"]) == (
        APPROVALS,
        "refund-approvals",
    )
    view = slack.client.views_open(trigger_id=bot.payload["trigger_id"], view=MODAL)["view"]
    assert [shown["id"] for shown in slack.look("/views", user="mia")] == [view["id"]]
    assert slack.look("/messages", channel=APPROVALS) == []


@pytest.mark.parametrize(
    ("answer", "shown", "reader"),
    [
        (Response("nothing waits"), "nothing waits", MIA.slack_user_id),
        (JSONResponse({"text": "nothing waits"}), "nothing waits", MIA.slack_user_id),
        (JSONResponse({"text": "x", "response_type": "in_channel"}), "x", None),
    ],
    ids=["text", "json", "in channel"],
)
def test_the_answer_to_a_command_is_shown(
    slack: Slack, bot: Bot, answer: Response, shown: str, reader: str | None
) -> None:
    bot.reply = lambda _: answer
    result = slack.act("/command", user="mia", command="/refunds", channel="oncall")
    assert (result["status"], result["problem"]) == (200, None)
    (message,) = slack.look("/messages", channel=ONCALL)
    assert (message["text"], message["ephemeral_for"]) == (shown, reader)


def test_an_answer_to_a_command_that_slack_refuses_is_told(slack: Slack, bot: Bot) -> None:
    bot.reply = lambda _: JSONResponse({"text": "x", "blocks": [{"type": "marquee"}]})
    result = slack.act("/command", user="mia", command="/refunds")
    assert result["problem"].startswith("invalid_blocks: [ERROR] unsupported type: marquee")
    problem_of(slack, "/command", 422, user="mia", command="refunds")


def test_the_first_look_at_home_opens_it(slack: Slack, bot: Bot) -> None:
    home = {"type": "home", "blocks": CARD}

    def publish(callback: dict[str, Any]) -> Response:
        event = callback["event"]
        assert (event["type"], event["tab"]) == ("app_home_opened", "home")
        slack.client.views_publish(user_id=event["user"], view=home)
        return Response()

    bot.reply = publish
    shown = slack.look("/home", user="ana")
    assert [block["type"] for block in shown["blocks"]] == ["section", "actions"]
    assert bot.payload["type"] == "event_callback"
    assert slack.look("/home", user="ana") == shown
    assert len(bot.received) == 1
    assert slack.act("/home", user="ana")["status"] == 200
    assert bot.payload["event"]["view"]["id"] == shown["id"]
    slack.act("/click", user="ana", view_id=shown["id"], action_id="approve")
    assert bot.payload["container"] == {"type": "view", "view_id": shown["id"]}
    problem_of(slack, "/submit", 409, user="ana", view_id=shown["id"])
    problem_of(slack, "/click", 404, user="ben", view_id=shown["id"], action_id="approve")


def test_a_home_that_was_never_published_is_empty(slack: Slack, bot: Bot) -> None:
    empty: dict[str, Any] = {"user": ANA.slack_user_id, "id": None, "hash": None, "blocks": []}
    assert [slack.look("/home", user="ana") for _ in "12"] == [empty, empty]
    assert len(bot.received) == 1


def test_people_write_messages_themselves(slack: Slack) -> None:
    root = slack.post()
    slack.act("/messages", user="ben", channel="refund-approvals", text="why? <x>", thread_ts=root)
    message = slack.look("/messages", channel=APPROVALS)[-1]
    assert (message["user"], message["bot_id"]) == (BEN.slack_user_id, None)
    assert (message["text"], message["thread_ts"]) == ("why? &lt;x&gt;", root)
    thread = slack.client.conversations_replies(channel=APPROVALS, ts=root)["messages"]
    assert [shown["user"] for shown in thread] == [slack.config.bot_user_id, BEN.slack_user_id]


def test_channels_are_listed_for_the_page(slack: Slack) -> None:
    slack.post()
    channels = slack.look("/channels")
    assert channels[0]["id"] == APPROVALS
    assert channels[0]["name"] == "refund-approvals"
    assert (channels[0]["messages"], channels[1]["messages"]) == (1, 0)
    assert slack.http.get("/sandbox/slack/messages?channel=nowhere").status_code == 404
    assert slack.http.get("/sandbox/slack/nowhere").json()["code"] == "not_found"


# Waiting for changes


def test_whoever_is_behind_hears_at_once(slack: Slack) -> None:
    version = slack.look("/changes", wait="0")["version"]
    assert slack.look("/changes", after=str(version), wait="0")["version"] == version
    slack.post()
    assert slack.look("/changes", after=str(version), wait="25")["version"] == version + 1


def test_a_change_wakes_who_waits(slack: Slack) -> None:
    version = slack.look("/changes", wait="0")["version"]
    heard: list[int] = []
    waiting = threading.Thread(
        target=lambda: heard.append(slack.look("/changes", after=str(version))["version"])
    )
    waiting.start()
    slack.post()
    waiting.join()
    assert heard == [version + 1]


def test_the_end_of_the_server_wakes_who_waits(slack: Slack) -> None:
    heard: list[int] = []
    waiting = threading.Thread(
        target=lambda: heard.append(slack.look("/changes", after="0")["version"])
    )
    waiting.start()
    slack.app.state.release()
    waiting.join()
    assert heard == [0]
