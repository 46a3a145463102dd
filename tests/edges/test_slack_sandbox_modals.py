"""Modals: how they open, and what becomes of them when they are submitted or closed."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastapi import Response
from fastapi.responses import JSONResponse

from bot.sandbox.slack_triggers import TriggerRefused, Triggers
from tests.support.slack_cards import (
    CARD,
    FILLED,
    MODAL,
    click,
    opened,
    option,
    problem_of,
    stack,
    submit,
    text,
)
from tests.support.slack_sandbox import (
    Bot,
    Slack,
    Stage,
    running_slack,
    running_stage,
)


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
    with running_slack(stage, tmp_path, f"{bot_stage.url}/slack/events") as slack:
        assert bot.received == []
        yield slack


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


# The other kinds of input

ENTRIES: list[tuple[Any, ...]] = [
    ({"type": "timepicker"}, "09:30", "selected_time", "09:30", "9:30", "Please enter a time."),
    (
        {"type": "email_text_input"},
        "a@b.example",
        "value",
        "a@b.example",
        "a@b",
        "Please enter an e-mail address.",
    ),
    (
        {"type": "url_text_input"},
        "https://x.example",
        "value",
        "https://x.example",
        "ftp:x",
        "Please enter an address that starts with http.",
    ),
    (
        {"type": "datetimepicker"},
        "1795965844",
        "selected_date_time",
        1795965844,
        "",
        "Please complete this required field.",
    ),
    (
        {"type": "users_select"},
        "U07ANARIBEI",
        "selected_user",
        "U07ANARIBEI",
        "",
        "Please complete this required field.",
    ),
    (
        {
            "type": "multi_static_select",
            "options": [option(one) for one in "abc"],
            "max_selected_items": 2,
        },
        ["a", "c"],
        "selected_options",
        [option("a"), option("c")],
        ["a", "b", "c"],
        "Please choose at most 2.",
    ),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0]["type"])
def test_each_kind_of_input_has_its_own_state(
    slack: Slack, bot: Bot, entry: tuple[Any, ...]
) -> None:
    element, value, name, stored, wrong, reason = entry
    block = {"type": "input", "block_id": "b", "label": text("B"), "element": element}
    view_id = opened(slack, bot, {**MODAL, "blocks": [{**block, "element": {**element}}]})
    (action_id,) = [b["element"]["action_id"] for b in stack(slack)[0]["blocks"]]
    problem = problem_of(slack, "/submit", 422, user="ana", view_id=view_id, values={"b": wrong})
    assert problem["errors"] == {"b": reason}
    assert submit(slack, view_id, values={"b": value})["status"] == 200
    state = bot.payload["view"]["state"]["values"]
    assert state == {"b": {action_id: {"type": element["type"], name: stored}}}


def test_an_input_that_dispatches_tells_of_each_entry(slack: Slack, bot: Bot) -> None:
    rich = {"type": "rich_text_input", "action_id": "note"}
    dispatching = {
        "type": "input",
        "block_id": "n",
        "label": text("Note"),
        "element": rich,
        "dispatch_action": True,
    }
    view_id = opened(slack, bot, {**MODAL, "blocks": [dispatching]})
    entry = {"user": "ana", "view_id": view_id, "block_id": "n", "action_id": "note"}
    slack.act("/click", **entry, value="so", values={"n": "so"})
    (action,) = bot.payload["actions"]
    assert (action["type"], action["block_id"]) == ("rich_text_input", "n")
    section = action["rich_text_value"]["elements"][0]
    assert section["elements"] == [{"type": "text", "text": "so"}]
    state = bot.payload["view"]["state"]["values"]["n"]["note"]
    assert state["rich_text_value"] == action["rich_text_value"]
