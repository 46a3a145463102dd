"""Slack around the cards, on the page: threads, commands, what can go wrong, and every block."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Demo
from tests.support.outside import eventually
from tests.support.process import APPROVALS, DeskProcess, running_desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskProcess]:
    """Run a desk for these tests alone: they change the workspace."""
    with running_desk(tmp_path_factory.mktemp("workspace")) as desk:
        yield desk


def place(demo: Demo, name: str) -> Locator:
    """Return a row of the sidebar."""
    return demo.page.get_by_role("navigation").get_by_role("button", name=name)


def test_a_thread_is_read_and_answered_beside_its_channel(demo: Demo) -> None:
    demo.opens("Clara Nguyen")
    demo.says("The chair in ORD-1001 arrived broken, I want my money back")
    card = demo.card("ORD-1001")
    card.get_by_role("button", name="Reject").click()
    demo.dialog.get_by_label("Category").select_option(index=1)
    demo.dialog.get_by_label("Reason").fill("Please send us a photo first.")
    demo.dialog.get_by_role("button", name="Reject").click()
    expect(demo.dialog).to_have_count(0)
    opener = card.get_by_role("button", name="1 reply")
    opener.press("Enter")

    thread = demo.page.get_by_role("region", name="Thread")
    expect(thread).to_contain_text("ORD-1001")
    reply = thread.get_by_label("Reply in the thread")
    expect(reply).to_be_focused()
    demo.page.keyboard.type("/refunds help")
    demo.page.keyboard.press("Enter")
    expect(thread.get_by_role("alert")).to_have_text("/refunds is not supported in threads. Sorry!")
    reply.fill("Clara has sent one to support")
    reply.press("Enter")
    expect(thread.get_by_text("2 replies")).to_be_visible()
    expect(thread.locator(".message").last).to_contain_text("Ana Ribeiro")
    expect(reply).to_have_value("")

    reply.press("Escape")
    expect(thread).to_be_hidden()
    expect(card.get_by_role("button", name="2 replies")).to_be_focused()
    expect(card).to_contain_text("Clara has sent one to support")


def test_a_reply_to_the_channel_as_well_stands_in_both(demo: Demo) -> None:
    root = posts(demo.desk, text="A request of its own")
    posts(demo.desk, text="Half of the time is over", thread_ts=root, reply_broadcast=True)
    demo.opens()
    alone = demo.page.locator("article.thread", has_text="replied to a thread: A request")
    expect(alone).to_contain_text("Half of the time is over")
    whole = demo.page.locator(f"article[data-ts='{root}']")
    expect(whole.locator(".replies")).to_contain_text("Half of the time is over")
    alone.get_by_role("button", name="replied to a thread").click()
    thread = demo.page.get_by_role("region", name="Thread")
    expect(thread.locator(".message").first).to_contain_text("A request of its own")
    expect(thread).to_contain_text("1 reply")
    thread.get_by_role("button", name="Close thread").click()
    expect(thread).to_be_hidden()


def posts(desk: DeskProcess, **message: object) -> str:
    """Let the bot post to the approvals channel, and return the message's `ts`."""
    app = desk.get("/sandbox/slack/app").json()
    answer = desk.client.post(
        f"{app['api_url']}chat.postMessage",
        headers={"Authorization": f"Bearer {app['bot_token']}"},
        json={"channel": APPROVALS, **message},
    ).json()
    assert answer["ok"] is True, answer
    return str(answer["ts"])


def test_a_command_is_offered_while_it_is_typed(demo: Demo) -> None:
    demo.opens()
    composer = demo.page.get_by_label("Message or slash command")
    composer.fill("/r")
    offer = demo.page.get_by_role("list", name="Commands").get_by_role("button")
    expect(offer).to_contain_text("/refunds")
    offer.click()
    expect(composer).to_have_value("/refunds ")
    expect(composer).to_be_focused()
    composer.press("Escape")
    expect(offer).to_have_count(0)
    composer.fill("What /refunds is for")
    expect(offer).to_have_count(0)


def test_what_is_typed_outlives_what_the_desk_says_about_it(demo: Demo) -> None:
    demo.opens("David Okafor")
    demo.says("Refund $60 on ORD-1015")
    demo.card("ORD-1015").get_by_role("button", name="Edit").click()
    why, amount = demo.dialog.get_by_label("Why"), demo.dialog.get_by_label("Amount in USD")
    why.fill("Half of it was fine")
    amount.fill("59")
    demo.page.keyboard.press("ArrowLeft")
    expect(demo.dialog).to_contain_text("59.00 USD")
    expect(amount).to_be_focused()
    demo.page.keyboard.type("4")
    expect(demo.dialog).to_contain_text("is left to refund")
    expect(amount).to_have_value("549")
    expect(why).to_have_value("Half of it was fine")
    demo.page.keyboard.press("Escape")
    expect(demo.dialog).to_have_count(0)


def test_the_workspace_goes_wrong_and_is_mended_from_the_page(demo: Demo) -> None:
    demo.opens("Sofia Marino", person="Sam Whitfield")
    place(demo, "What can go wrong").click()
    panel = demo.page.get_by_role("region", name="What can go wrong")
    panel.get_by_label("Method").select_option("chat.postEphemeral")
    panel.get_by_label("What happens").select_option(label="Slack fails (500)")
    panel.get_by_role("button", name="Let it fail").click()
    expect(panel.get_by_role("status")).to_contain_text("The next chat.postEphemeral")
    expect(panel).to_contain_text("chat.postEphemeral: HTTP 500 (1 time)")
    panel.get_by_role("button", name="Let all calls work again").click()
    expect(panel).to_contain_text("No call is going to fail.")

    review = panel.get_by_role("group", name="#refund-review")
    review.get_by_label("archived").check()
    expect(panel.get_by_role("status")).to_have_text("#refund-review: archived.")
    expect(place(demo, "refund-review")).to_contain_text("(archived)")
    place(demo, "refund-review").click()
    expect(demo.page.get_by_text("This channel is archived.")).to_be_visible()
    expect(demo.page.get_by_label("Message or slash command")).to_be_hidden()
    place(demo, "What can go wrong").click()
    review.get_by_label("archived").uncheck()
    expect(place(demo, "refund-review")).not_to_contain_text("(archived)")

    # Sam may not decide before he is in the group, and the desk notices by itself.
    panel.get_by_role("group", name="@refund-approvers").get_by_label("Sam").check()
    expect(panel.get_by_role("status")).to_contain_text("Sam is now in @refund-approvers")
    group = demo.desk.get("/sandbox/slack/groups").json()[0]
    assert group["members"] == ["ana", "ben", "sam"]
    roles = (
        "SELECT role FROM role_members JOIN actors ON actors.id = actor_id "
        "WHERE name = 'Sam Whitfield' AND role = 'refund_approver'"
    )
    eventually(lambda: demo.desk.rows(roles), "role of Sam", 40)
    demo.says("My lamp arrived broken, I want my money back")
    place(demo, "refund-approvals").click()
    card = demo.card("ORD-1017")
    card.get_by_role("button", name="Approve").click()
    demo.dialog.get_by_role("button", name="Approve").click()
    expect(card).to_contain_text("Approved and paid by @Sam Whitfield")


BLOCKS: list[dict[str, Any]] = [
    {"type": "alert", "level": "warning", "text": {"type": "plain_text", "text": "Look out"}},
    {"type": "markdown", "text": "**not bold** here"},
    {
        "type": "data_table",
        "caption": "What waits",
        "rows": [
            [{"type": "raw_text", "text": "Order"}, {"type": "raw_text", "text": "Amount"}],
            [
                {"type": "raw_text", "text": "ORD-1"},
                {"type": "raw_number", "value": 5, "text": "5.00"},
            ],
        ],
    },
    {
        "type": "card",
        "title": {"type": "mrkdwn", "text": "*A card*"},
        "actions": [
            {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go"}}
        ],
    },
    {
        "type": "container",
        "title": {"type": "plain_text", "text": "Inside"},
        "is_collapsible": True,
        "child_blocks": [{"type": "divider"}],
    },
]
ELEMENTS: list[dict[str, Any]] = [
    {"type": "users_select", "initial_user": "U07BENORTIZ"},
    {"type": "timepicker", "initial_time": "09:30"},
    {"type": "datetimepicker", "initial_date_time": 1_795_965_840},
    {"type": "datepicker", "initial_date": "2026-11-29"},
    {"type": "email_text_input", "initial_value": "a@b.example"},
    {"type": "url_text_input"},
    {
        "type": "rich_text_input",
        "initial_value": {
            "type": "rich_text",
            "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": "so"}]}
            ],
        },
    },
    {
        "type": "multi_static_select",
        "options": [
            {"text": {"type": "plain_text", "text": one}, "value": one} for one in ("x", "y", "z")
        ],
        "initial_options": [{"text": {"type": "plain_text", "text": "y"}, "value": "y"}],
    },
]
_DRAW = """async ([blocks, elements]) => {
  const { drawBlocks } = await import("/js/blocks.js");
  const { entries, refill } = await import("/js/elements.js");
  const { h } = await import("/js/dom.js");
  const { people } = await (await fetch("/workspace.json")).json();
  const names = { user: () => "", group: () => "", channel: () => "" };
  const surface = { key: "t", names, people, act: () => {} };
  const field = (element, at) => ({
    type: "input",
    block_id: element.type,
    label: { type: "plain_text", text: element.type },
    element: { action_id: "e", ...element },
  });
  const form = (list) => h("form", {}, drawBlocks(list.map(field), surface));
  const first = form(elements);
  const blank = form(elements.map(({ type, options }) => ({ type, options })));
  const known = entries(first);
  refill(blank, known);
  const drawn = drawBlocks(blocks.map((one, at) => ({ block_id: `b${at}`, ...one })), surface);
  return { known, again: entries(blank), drawn: drawn.map((one) => one.textContent) };
}"""


def test_newer_blocks_and_every_input_are_drawn_and_read(demo: Demo) -> None:
    demo.page.goto(demo.desk.url)
    found = demo.page.evaluate(_DRAW, [BLOCKS, ELEMENTS])
    alert, markdown, table, card, container = found["drawn"]
    assert (alert, markdown) == ("Look out", "**not bold** here")
    assert [word in table for word in ("What waits", "Order", "ORD-1", "5.00")] == [True] * 4
    assert ("A card" in card, "Go" in card, "Inside" in container) == (True, True, True)
    expected = {
        "users_select": "U07BENORTIZ",
        "timepicker": "09:30",
        "datetimepicker": "1795965840",
        "datepicker": "2026-11-29",
        "email_text_input": "a@b.example",
        "url_text_input": None,
        "rich_text_input": "so",
        "multi_static_select": ["y"],
    }
    assert {block: values["e"] for block, values in found["known"].items()} == expected
    # A form drawn anew takes what was in the form before.
    assert found["again"] == found["known"]
