"""The limits of blocks and views, each exactly on the limit and one over."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from bot.sandbox.block_limits import check_message, check_view, text_total
from bot.sandbox.json_shape import JsonObject, parse_json
from bot.sandbox.slack_text import stored_text
from tests.support.block_kit import (
    DIVIDER,
    actions,
    alert,
    button,
    card,
    chart,
    code,
    confirm,
    container,
    context,
    data_table,
    feedback,
    field,
    home,
    image,
    markdown,
    modal,
    mrkdwn,
    number_input,
    option,
    options,
    piece,
    plain,
    plan,
    radio,
    rich,
    rich_input,
    section,
    select,
    table,
    task,
    text_input,
)


def numbered(cases: Sequence[object]) -> list[str]:
    return [f"case {number}" for number in range(len(cases))]


TAKEN: list[list[JsonObject]] = [
    [],
    [DIVIDER] * 50,
    [{"type": "header", "text": plain(150)}],
    [section(text=mrkdwn(3_000, verbatim=True))],
    [section(text=plain(1, emoji=False), expand=True)],
    [section(fields=[plain(1_300)] * 10)],
    [section(fields=[plain(2_000)] * 2, accessory=button())],
    [section(text=mrkdwn(), accessory=image())],
    [context(*[mrkdwn()] * 9, image())],
    [context(mrkdwn(2_900))],
    [actions(*[button(str(number)) for number in range(25)])],
    [actions(button("a" * 255, value="v" * 2_000, style="primary"))],
    [actions(button(text=plain(75), url="https://x.example", accessibility_label="x" * 75))],
    [actions(button(confirm=confirm(title=plain(100), text=mrkdwn(300), style="danger")))],
    [actions(button(confirm=confirm(confirm=plain(30), deny=plain(30))))],
    [actions(select(options=options(100), placeholder=plain(150)))],
    [actions(select(initial_option=option("1")))],
    [
        actions(
            {
                "type": "static_select",
                "option_groups": [{"label": plain(75), "options": options(3)}] * 100,
            }
        )
    ],
    [actions(radio(options=options(10)))],
    [actions(radio(options=[option("v" * 150, description=plain(75))]))],
    [actions({"type": "checkboxes", "options": options(10), "initial_options": options(2)})],
    [actions({"type": "overflow", "action_id": "o", "options": options(5)})],
    [actions({"type": "datepicker", "action_id": "d", "initial_date": "2026-11-29"})],
    [image(title=plain(2_000), alt_text="x" * 2_000, block_id="b" * 255)],
    [field(text_input(), hint=plain(2_000), optional=True)],
    [rich(code("<!channel> & `more`"))],
    [
        rich(
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "text", "text": "a", "style": {"bold": True}},
                    {"type": "link", "url": "https://x.example", "text": "a"},
                    {"type": "user", "user_id": "U1"},
                    {"type": "date", "timestamp": 1, "format": "{date}", "fallback": "x"},
                ],
            },
            {
                "type": "rich_text_list",
                "style": "bullet",
                "indent": 1,
                "elements": [
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "a"}]}
                ],
            },
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "a"}], "border": 1},
        )
    ],
    [table(100, 20)],
    [
        {
            "type": "table",
            "rows": [[{"type": "raw_number", "value": 1.5, "text": "1.50"}, rich(code("x"))]],
            "column_settings": [None, {"align": "right", "is_wrapped": True}],
        }
    ],
    [section(text=plain(), block_id="a"), section(text=plain(), block_id="b")],
    [piece("user", user_id="U1", style={"bold": True, "client_highlight": True})],
    [piece("usergroup", usergroup_id="S1"), piece("channel", channel_id="C1")],
    [piece("emoji", name="white_check_mark", unicode="2705"), piece("broadcast", range="here")],
    [piece("date", timestamp=1, format="{time}", url="https://x.example", fallback="x")],
    [piece("text", text="a", style={"code": True, "underline": True, "strike": True})],
    [piece("color", value="#0f766e"), piece("team", team_id="T1")],
    [field(rich_input(min_lines=1, max_lines=100, placeholder=plain(150)), dispatch_action=True)],
    [field({"type": "email_text_input"}), field({"type": "url_text_input"})],
    [actions({"type": "users_select", "initial_user": "U1"})],
    [actions({"type": "timepicker", "initial_time": "09:30"})],
    [actions({"type": "datetimepicker", "initial_date_time": 1_795_965_844})],
    [
        actions(
            {"type": "multi_static_select", "options": options(100), "max_selected_items": 2},
        )
    ],
    [table(cells=2, text=5_000)],
    [data_table(201, 1), data_table(2, 20, page_size=100, row_header_column_index=19)],
    [data_table(2, 1, "x" * 10_000)],
    [card(subtitle=mrkdwn(150), body=mrkdwn(200), subtext=mrkdwn(200))],
    [card(actions=[button(str(n)) for n in range(3)], icon=image())],
    [{"type": "carousel", "elements": [card()] * 10}],
    [container(*[DIVIDER] * 10, subtitle=plain(150), is_collapsible=True)],
    [container(section(text=plain(), block_id="a")), section(text=plain(), block_id="b")],
    [plan(*[task(str(n), status="pending") for n in range(50)])],
    [{"type": "task_card", **task(details=rich(code("x")))}],
    [{"type": "context_actions", "elements": [feedback()] * 5}],
    [markdown(12_000)],
    [chart(), chart()],
]

REFUSED: list[tuple[object, str, str]] = [
    ({}, "/blocks", "must be an array"),
    (["x"], "/blocks/0", "must be an object"),
    ([DIVIDER] * 51, "/blocks", "no more than 50 items"),
    ([{"type": "marquee"}], "/blocks/0/type", "unsupported type: marquee"),
    ([{"text": plain()}], "/blocks/0/type", "unsupported type: None"),
    ([{"type": "divider", "colour": "red"}], "/blocks/0/colour", "unknown field: colour"),
    ([{"type": "header", "text": plain(151)}], "/blocks/0/text/text", "less than 151"),
    ([{"type": "header", "text": mrkdwn()}], "/blocks/0/text/type", "unsupported type: mrkdwn"),
    ([{"type": "header", "text": "x"}], "/blocks/0/text", "must be an object"),
    ([actions(button(confirm="sure?"))], "/blocks/0/elements/0/confirm", "must be an object"),
    ([{"type": "header"}], "/blocks/0", "missing required field: text"),
    ([section(text=mrkdwn(3_001))], "/blocks/0/text/text", "less than 3001"),
    ([section(text=mrkdwn(0))], "/blocks/0/text/text", "more than 0"),
    ([section(text={"type": "mrkdwn", "text": 7})], "/blocks/0/text/text", "must be a string"),
    ([section(text=mrkdwn(emoji=True))], "/blocks/0/text/emoji", "unknown field: emoji"),
    ([section(text=plain(emoji="no"))], "/blocks/0/text/emoji", "must be a boolean"),
    ([section()], "/blocks/0", "needs text or fields"),
    ([section(fields=[])], "/blocks/0/fields", "no fewer than 1"),
    ([section(fields=[plain()] * 11)], "/blocks/0/fields", "no more than 10"),
    ([section(fields=[plain(2_001)])], "/blocks/0/fields/0/text", "less than 2001"),
    ([section(text=plain(), accessory=text_input())], "/blocks/0/accessory/type", "unsupported"),
    ([context()], "/blocks/0/elements", "no fewer than 1"),
    ([context(*[mrkdwn()] * 11)], "/blocks/0/elements", "no more than 10"),
    ([context(mrkdwn(2_901))], "/blocks/0/elements/0/text", "less than 2901"),
    ([context(button())], "/blocks/0/elements/0/type", "unsupported type: button"),
    ([actions()], "/blocks/0/elements", "no fewer than 1"),
    (
        [actions(*[button(str(number)) for number in range(26)])],
        "/blocks/0/elements",
        "no more than 25",
    ),
    ([actions(button(text=plain(76)))], "/blocks/0/elements/0/text/text", "less than 76"),
    ([actions(button(text=mrkdwn()))], "/blocks/0/elements/0/text/type", "unsupported"),
    ([actions(button(value="v" * 2_001))], "/blocks/0/elements/0/value", "less than 2001"),
    ([actions(button(url="u" * 3_001))], "/blocks/0/elements/0/url", "less than 3001"),
    ([actions(button("a" * 256))], "/blocks/0/elements/0/action_id", "less than 256"),
    ([actions(button(style="default"))], "/blocks/0/elements/0/style", "primary, danger"),
    ([actions(button(accessibility_label="x" * 76))], "/blocks/0/elements/0", "less than 76"),
    (
        [actions(button(confirm=confirm(title=plain(101))))],
        "/blocks/0/elements/0/confirm/title/text",
        "less than 101",
    ),
    (
        [actions(button(confirm=confirm(text=mrkdwn(301))))],
        "/blocks/0/elements/0/confirm/text/text",
        "less than 301",
    ),
    (
        [actions(button(confirm=confirm(deny=plain(31))))],
        "/blocks/0/elements/0/confirm/deny/text",
        "less than 31",
    ),
    ([actions(button(confirm={}))], "/blocks/0/elements/0/confirm", "missing required field"),
    ([actions(button("a"), button("a"))], "/blocks/0/elements/1/action_id", "a is not unique"),
    ([actions(button("a")), actions(button("a"))], "/blocks/1/elements/0/action_id", "not unique"),
    ([actions(button(), block_id="b" * 256)], "/blocks/0/block_id", "less than 256"),
    (
        [section(text=plain(), block_id="b"), section(text=plain(), block_id="b")],
        "/blocks/1/block_id",
        "b is not unique",
    ),
    ([actions(select(options=options(101)))], "/blocks/0/elements/0/options", "no more than 100"),
    ([actions(select(options=[]))], "/blocks/0/elements/0/options", "no fewer than 1"),
    ([actions(select(option_groups=[]))], "/blocks/0/elements/0/option_groups", "no fewer"),
    (
        [actions({"type": "static_select", "action_id": "s"})],
        "/blocks/0/elements/0",
        "either options or option_groups",
    ),
    ([actions(select(placeholder=plain(151)))], "/blocks/0/elements/0/placeholder", "less than"),
    ([actions(select(initial_option=option("9")))], "/blocks/0/elements/0", "not among the opt"),
    (
        [actions(select(options=[option(text=plain(76))]))],
        "/blocks/0/elements/0/options/0/text",
        "less than 76",
    ),
    (
        [actions(select(options=[option("v" * 151)]))],
        "/blocks/0/elements/0/options/0/value",
        "less than 151",
    ),
    (
        [actions(select(options=[option(description=plain(76))]))],
        "/blocks/0/elements/0/options/0/description",
        "less than 76",
    ),
    ([actions(radio(options=options(11)))], "/blocks/0/elements/0/options", "no more than 10"),
    (
        [actions({"type": "overflow", "options": options(6)})],
        "/blocks/0/elements/0/options",
        "no more than 5",
    ),
    ([actions({"type": "datepicker", "initial_date": "29.11.2026"})], "/blocks/0", "not match"),
    ([image(alt_text="x" * 2_001)], "/blocks/0/alt_text", "less than 2001"),
    ([image(title=plain(2_001))], "/blocks/0/title/text", "less than 2001"),
    ([image(image_url="u" * 3_001)], "/blocks/0/image_url", "less than 3001"),
    ([field(text_input(), label=plain(2_001))], "/blocks/0/label/text", "less than 2001"),
    ([field(text_input(), hint=plain(2_001))], "/blocks/0/hint/text", "less than 2001"),
    ([field(button())], "/blocks/0/element/type", "unsupported type: button"),
    ([field(text_input(max_length=3_001))], "/blocks/0/element/max_length", "between 1 and 3000"),
    ([field(text_input(max_length=0))], "/blocks/0/element/max_length", "between 1 and 3000"),
    ([field(text_input(min_length=-1))], "/blocks/0/element/min_length", "between 0 and 3000"),
    ([field(text_input(min_length=True))], "/blocks/0/element/min_length", "must be an integer"),
    (
        [field(text_input(min_length=5, max_length=4))],
        "/blocks/0/element/min_length",
        "not be above max_length",
    ),
    (
        [field(text_input(initial_value="x" * 3_001))],
        "/blocks/0/element/initial_value",
        "less than 3001",
    ),
    ([field(number_input(min_value="one"))], "/blocks/0/element/min_value", "does not match"),
    (
        [field({"type": "number_input", "action_id": "n"})],
        "/blocks/0/element",
        "missing required field: is_decimal_allowed",
    ),
    ([rich()], "/blocks/0/elements", "no fewer than 1"),
    ([rich(code(""))], "/blocks/0/elements/0/elements/0/text", "more than 0"),
    ([rich({"type": "text", "text": "x"})], "/blocks/0/elements/0/type", "unsupported"),
    (
        [rich({"type": "rich_text_list", "style": "dots", "elements": []})],
        "/blocks/0/elements/0/style",
        "bullet, ordered",
    ),
    ([table(101, 1)], "/blocks/0/rows", "no more than 100"),
    ([table(1, 21)], "/blocks/0/rows/0", "no more than 20"),
    ([table(), table()], "/blocks/1", "only one table"),
    ([table(column_settings=[{"align": "middle"}])], "/blocks/0/column_settings/0", "left, cent"),
    ([table(column_settings=[None] * 21)], "/blocks/0/column_settings", "no more than 20"),
    (
        [{"type": "table", "rows": [[{"type": "raw_number", "value": "1", "text": "1"}]]}],
        "/blocks/0/rows/0/0/value",
        "must be a number",
    ),
    ([table(cells=2, text=5_001)], "/blocks/0/rows", "together are 10002 of 10000"),
    ([piece("user", user_id="U1", style={"code": True})], "/blocks/0/elements/0", "unknown field"),
    ([piece("user")], "/blocks/0/elements/0/elements/0", "missing required field: user_id"),
    ([piece("usergroup", usergroup_id="")], "/blocks/0/elements/0/elements/0", "more than 0"),
    ([piece("date", timestamp="1", format="{time}")], "/blocks/0", "must be an integer"),
    ([piece("date", timestamp=1)], "/blocks/0", "missing required field: format"),
    ([piece("broadcast", range="all")], "/blocks/0", "here, channel, everyone"),
    ([piece("marquee", text="x")], "/blocks/0/elements/0/elements/0/type", "unsupported"),
    ([field(rich_input(max_lines=101))], "/blocks/0/element/max_lines", "between 1 and 100"),
    ([field(rich_input(min_lines=3, max_lines=2))], "/blocks/0/element/min_lines", "be above"),
    ([actions({"type": "timepicker", "initial_time": "24:00"})], "/blocks/0", "does not match"),
    ([actions(text_input())], "/blocks/0/elements/0/type", "unsupported type: plain_text_input"),
    (
        [actions({"type": "multi_static_select", "options": options(101)})],
        "/blocks/0/elements/0/options",
        "no more than 100",
    ),
    ([data_table(202)], "/blocks/0/rows", "no more than 201"),
    ([data_table(1)], "/blocks/0/rows", "no fewer than 2"),
    ([data_table(2, 21)], "/blocks/0/rows/0", "no more than 20"),
    ([data_table(page_size=101)], "/blocks/0/page_size", "between 1 and 100"),
    ([data_table(row_header_column_index=1)], "/blocks/0/row_header", "no such column"),
    ([data_table(rows=2, rows_=1)], "/blocks/0/rows_", "unknown field"),
    ([data_table(2, 1, "x" * 10_001)], "/blocks/0/rows", "20002 of 20000"),
    ([data_table(2, 1, "x" * 6_000)] * 2, "/blocks", "data_table blocks together are 24000"),
    ([{**data_table(), "rows": [[rich(code("x"))]] * 2}], "/blocks/0/rows/0/0", "no rich text"),
    (
        [{**data_table(), "rows": [*data_table(1, 2)["rows"], *data_table(1)["rows"]]}],
        "/blocks/0/rows/1",
        "must have 2 cells",
    ),
    ([card(title=mrkdwn(151))], "/blocks/0/title/text", "less than 151"),
    ([card(subtitle=mrkdwn(151))], "/blocks/0/subtitle/text", "less than 151"),
    ([card(body=mrkdwn(201))], "/blocks/0/body/text", "less than 201"),
    ([card(subtext=mrkdwn(201))], "/blocks/0/subtext/text", "less than 201"),
    ([card(actions=[button(str(n)) for n in range(4)])], "/blocks/0/actions", "no more than 3"),
    ([{"type": "card", "subtitle": mrkdwn()}], "/blocks/0", "needs hero_image or title"),
    ([{"type": "carousel", "elements": [card()] * 11}], "/blocks/0/elements", "no more than 10"),
    (
        [{"type": "carousel", "elements": [card(actions=[button("a")])] * 2}],
        "/blocks/0/elements/1/actions/0/action_id",
        "a is not unique",
    ),
    ([container(*[DIVIDER] * 11)], "/blocks/0/child_blocks", "no more than 10"),
    ([container(card())], "/blocks/0/child_blocks/0/type", "unsupported type: card"),
    ([{"type": "container", "child_blocks": [DIVIDER]}], "/blocks/0", "needs title or rich"),
    ([container(table()), table()], "/blocks/1", "only one table"),
    (
        [container(actions(button("a"))), actions(button("a"))],
        "/blocks/0/child_blocks/0/elements/0/action_id",
        "a is not unique",
    ),
    ([plan(*[task(str(n)) for n in range(51)])], "/blocks/0/tasks", "no more than 50"),
    ([plan(task(), task())], "/blocks/0/tasks/1/task_id", "t is not unique"),
    ([{"type": "task_card", **task(status="pending")}], "/blocks/0/status", "task of a plan"),
    (
        [{"type": "context_actions", "elements": [feedback()] * 6}],
        "/blocks/0/elements",
        "no more than 5",
    ),
    ([markdown(12_001)], "/blocks/0/text", "less than 12001"),
    ([markdown(6_001)] * 2, "/blocks", "markdown blocks together are 12002 of 12000"),
    ([chart()] * 3, "/blocks/2", "only 2 data_visualization"),
    ([alert()], "/blocks/0/type", "unsupported type: alert"),
]


@pytest.mark.parametrize("blocks", TAKEN, ids=numbered(TAKEN))
def test_blocks_within_the_limits_are_taken(blocks: list[JsonObject]) -> None:
    assert check_message(blocks) == []


@pytest.mark.parametrize(("blocks", "pointer", "reason"), REFUSED, ids=numbered(REFUSED))
def test_blocks_beyond_a_limit_are_refused(blocks: object, pointer: str, reason: str) -> None:
    problems = check_message(blocks)
    assert [p for p in problems if p.pointer.startswith(pointer) and reason in p.reason], problems
    assert {p.code for p in problems} == {"invalid_blocks"}


def test_a_problem_reads_as_slack_writes_it() -> None:
    (problem,) = check_message([section(text=mrkdwn(0))])
    expected = "[ERROR] must be more than 0 characters [json-pointer:/blocks/0/text/text]"
    assert str(problem) == expected


def _long(total: int) -> list[JsonObject]:
    whole, rest = divmod(total, 3_000)
    return [section(text=plain(3_000))] * whole + [section(text=plain(rest))]


def test_a_workspace_may_lack_a_newer_kind_of_block() -> None:
    blocks = [DIVIDER, container(table())]
    assert check_message(blocks) == check_message(blocks, lacking={"data_table"}) == []
    (problem,) = check_message(blocks, lacking={"table"})
    assert (problem.code, problem.pointer) == ("invalid_blocks", "/blocks/1/child_blocks/0/type")
    (problem,) = check_view(home(*blocks), "home", lacking={"container"})
    assert (problem.code, problem.pointer) == ("invalid_arguments", "/view/blocks/1/type")


def test_all_text_together_has_a_limit() -> None:
    assert check_message(_long(13_200)) == []
    (problem,) = check_message(_long(13_201))
    assert problem.code == "msg_blocks_too_long"
    assert "13201 of 13200" in problem.reason
    assert check_message(_long(13_201), total=False) == []


@pytest.mark.parametrize(
    ("blocks", "total"),
    [
        ([{"type": "header", "text": plain(10)}], 110),
        ([section(text={"type": "mrkdwn", "text": "<&>"})], 4 + 5 + 4),
        ([section(text={"type": "mrkdwn", "text": "&lt;"})], 4),
        ([section(text={"type": "mrkdwn", "text": "<!channel>"})], 10),
        ([section(text={"type": "plain_text", "text": "<!channel>"})], 16),
        ([rich(code("&lt;"))], 8),
        ([table(2, 3)], 6),
        ([data_table(2, 3)], 0),
        ([container(section(text=plain(7)))], 157),
        ([actions(button(), select())], 1 + 2),
    ],
)
def test_text_is_counted_as_slack_stores_it(blocks: list[JsonObject], total: int) -> None:
    assert text_total(blocks) == total


VIEWS_TAKEN: list[JsonObject] = [
    modal(),
    modal(*[DIVIDER] * 100, title=plain(24), close=plain(24)),
    modal(field(text_input()), submit=plain(24)),
    modal(
        private_metadata="m" * 3_000,
        callback_id="c" * 255,
        external_id="e" * 255,
        notify_on_close=True,
        clear_on_close=True,
    ),
    modal(field(text_input(initial_value="x" * 3_000, max_length=3_000)), submit=plain()),
    modal(field(number_input(min_value="0.01", max_value="160.00")), submit=plain()),
    modal(actions(button("a")), actions(button("a"))),
    home(),
    home(*[section(text=plain(3_000))] * 50),
    home(table(), private_metadata="m" * 3_000),
    modal(alert(level="warning"), card()),
    modal(field(text_input(focus_on_load=True)), field(text_input()), submit=plain()),
    home(data_table(), card(), container(DIVIDER), chart()),
]

VIEWS_REFUSED: list[tuple[object, str, str]] = [
    ([], "/view", "must be an object"),
    ({"type": "workflow_step"}, "/view/type", "unsupported type"),
    ({"type": "modal", "blocks": []}, "/view", "missing required field: title"),
    (modal(*[DIVIDER] * 101), "/view/blocks", "no more than 100"),
    (modal(title=plain(25)), "/view/title/text", "less than 25"),
    (modal(title=mrkdwn()), "/view/title/type", "unsupported type: mrkdwn"),
    (modal(submit=plain(25)), "/view/submit/text", "less than 25"),
    (modal(close=plain(25)), "/view/close/text", "less than 25"),
    (modal(field(text_input())), "/view", "submit is required"),
    (modal(private_metadata="m" * 3_001), "/view/private_metadata", "less than 3001"),
    (modal(callback_id="c" * 256), "/view/callback_id", "less than 256"),
    (modal(external_id="c" * 256), "/view/external_id", "less than 256"),
    (modal(table()), "/view/blocks/0/type", "unsupported type: table"),
    (modal(alert(201)), "/view/blocks/0/text/text", "less than 201"),
    (modal(alert(level="shrill")), "/view/blocks/0/level", "warning, error"),
    (modal(data_table()), "/view/blocks/0/type", "unsupported type: data_table"),
    (modal(markdown(1)), "/view/blocks/0/type", "unsupported type: markdown"),
    (home(alert()), "/view/blocks/0/type", "unsupported type: alert"),
    (home(plan(task())), "/view/blocks/0/type", "unsupported type: plan"),
    (home(table(), table()), "/view/blocks/1", "only one table"),
    (
        modal(*[field(text_input(focus_on_load=True))] * 2, submit=plain()),
        "/view/blocks/1/element/focus_on_load",
        "only one element",
    ),
    (modal(colour="red"), "/view/colour", "unknown field"),
    (modal(actions(button("a"), button("a"))), "/view/blocks/0", "a is not unique"),
    (
        modal(section(text=plain(), block_id="b"), section(text=plain(), block_id="b")),
        "/view/blocks/1/block_id",
        "b is not unique",
    ),
    (home(title=plain()), "/view/title", "unknown field"),
    (home(*[DIVIDER] * 101), "/view/blocks", "no more than 100"),
    (home(section(text=plain(3_001))), "/view/blocks/0/text/text", "less than 3001"),
]


@pytest.mark.parametrize("view", VIEWS_TAKEN, ids=numbered(VIEWS_TAKEN))
def test_views_within_the_limits_are_taken(view: JsonObject) -> None:
    assert check_view(view, "modal", "home") == []


@pytest.mark.parametrize(("view", "pointer", "reason"), VIEWS_REFUSED, ids=numbered(VIEWS_REFUSED))
def test_views_beyond_a_limit_are_refused(view: object, pointer: str, reason: str) -> None:
    problems = check_view(view, "modal", "home")
    assert [p for p in problems if p.pointer.startswith(pointer) and reason in p.reason], problems
    assert {p.code for p in problems} == {"invalid_arguments"}


def test_a_view_of_the_wrong_kind_is_refused() -> None:
    (problem,) = check_view(home(), "modal")
    assert problem.reason == "unsupported type: home"


def _view_of(size: int) -> JsonObject:
    text = [section(text=plain(2_900)) for _ in range(80)]
    view = modal(*text, private_metadata="")
    spare = size - len(json.dumps(view))
    view["blocks"] += [section(text=plain(2_900)) for _ in range(spare // 3_000)]
    view["private_metadata"] = "m" * (size - len(json.dumps(view)))
    return view


def test_a_view_has_a_size_limit() -> None:
    assert len(json.dumps(_view_of(250_000))) == 250_000
    assert check_view(_view_of(250_000), "modal") == []
    (problem,) = check_view(_view_of(250_001), "modal")
    assert (problem.code, problem.pointer) == ("view_too_large", "/view")


@pytest.mark.parametrize(
    ("text", "kind", "stored"),
    [
        ("a & b", "mrkdwn", "a &amp; b"),
        ("a &amp; b &lt;", "mrkdwn", "a &amp; b &lt;"),
        ("&nbsp;", "mrkdwn", "&amp;nbsp;"),
        ("<@U1> <#C1|x> <!here> <https://x.example|y>", "mrkdwn", None),
        ("<!date^1795965844^{date_short} at {time}|soon>", "mrkdwn", None),
        ("<!subteam^S1>", "mrkdwn", None),
        ("<script>1 > 0</script>", "mrkdwn", "&lt;script&gt;1 &gt; 0&lt;/script&gt;"),
        ("<@U1>", "plain_text", "&lt;@U1&gt;"),
        ("&lt;@U1>", "plain_text", "&lt;@U1&gt;"),
        ("&lt;", "text", "&amp;lt;"),
    ],
)
def test_text_is_stored_escaped_once(text: str, kind: str, stored: str | None) -> None:
    assert stored_text(text, kind) == (text if stored is None else stored)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", '"\\ud800"', "{", "", "[" * 100_000], ids=lambda t: t[:12]
)
def test_json_that_could_not_be_written_again_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)


def test_json_is_parsed() -> None:
    expected: Any = {"a": [1, None, "é"]}
    assert parse_json('{"a": [1, null, "\\u00e9"]}') == expected
