"""The story by real clicks: the customer on the left, the team on the right, one page."""

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Demo
from tests.support.process import DeskProcess, eventually

MARKUP = "<b>bold</b> <img src=x onerror=alert(1)> *stars* <@U07ANARIBEI> &lt;i&gt; :tada: `code`"
PENDING = "needs a quick review by our team"
TYPED = "Only the foot was wobbly; please send us a photo."


def test_a_small_refund_is_done_at_once(demo: Demo) -> None:
    demo.opens()

    # A suggestion is written, not sent: that is up to the customer.
    demo.page.get_by_role("button", name="Refund $5 on ORD-1002").click()
    expect(demo.page.get_by_label("Your message")).to_be_focused()
    demo.page.keyboard.press("Enter")

    expect(demo.chip("done", "5.00 USD on order ORD-1002")).to_be_visible()
    expect(demo.log).to_contain_text("I have refunded 5.00 USD on ORD-1002")
    expect(demo.order("ORD-1002")).to_contain_text("Part refunded")
    expect(demo.order("ORD-1002")).to_contain_text("43.00 USD")
    expect(demo.page.locator("#breaker")).to_contain_text("Breaker closed")


def test_a_large_refund_waits_for_the_right_person(demo: Demo) -> None:
    demo.opens(person="Gus Petrov")

    demo.says("The chair arrived broken, I want my money back")

    expect(demo.chip("pending", f"160.00 USD on order ORD-1001: {PENDING}")).to_be_visible()
    card = demo.card("ORD-1001")
    expect(card).to_contain_text("Refund needs approval · 160.00 USD")
    expect(card).to_contain_text("amount_over_limit")

    card.get_by_role("button", name="Approve").click()
    expect(demo.dialog).to_contain_text("160.00 USD on order ORD-1001 goes to Clara N.")
    demo.dialog.get_by_role("button", name="Approve").click()
    whisper = demo.page.locator(".private", has_text="Only visible to you")
    expect(whisper).to_contain_text("Guests and inactive accounts may not decide")

    demo.becomes("Ana Ribeiro")
    expect(whisper).to_have_count(0)
    card.get_by_role("button", name="Approve").click()
    demo.dialog.get_by_role("button", name="Not yet").click()
    expect(demo.chip("pending", "ORD-1001")).to_be_visible()
    card.get_by_role("button", name="Approve").click()
    demo.dialog.get_by_role("button", name="Approve").click()

    expect(card).to_contain_text(re.compile(r"Approved and paid by @Ana Ribeiro .*\d:\d\d"))
    expect(card.get_by_role("button", name="Approve")).to_have_count(0)
    expect(card).to_contain_text("(edited)")
    expect(card).to_contain_text("2 replies")
    expect(demo.chip("done", "160.00 USD on order ORD-1001")).to_be_visible()
    expect(demo.log).to_contain_text("160.00 USD has been refunded on ORD-1001")
    expect(demo.order("ORD-1001").get_by_text("Refunded").first).to_be_visible()
    assert [one["amount"]["minor"] for one in demo.desk.payments("ORD-1001")] == [16000]


def test_a_rejection_needs_a_reason_and_the_customer_reads_it(demo: Demo) -> None:
    demo.opens("Sofia Marino")
    demo.says("My lamp arrived broken, I want my money back")
    card = demo.card("ORD-1017")

    card.get_by_role("button", name="Reject").click()
    submit = demo.dialog.get_by_role("button", name="Reject")
    submit.click()
    expect(demo.dialog.get_by_text("Please complete this required field.")).to_have_count(2)

    demo.dialog.get_by_label("Category").select_option(label="More information is needed first")
    demo.dialog.get_by_label("Reason").fill(TYPED)
    submit.click()

    expect(demo.dialog).to_have_count(0)
    expect(card).to_contain_text("Rejected by @Ana Ribeiro")
    expect(card).to_contain_text(TYPED)
    expect(demo.chip("declined", TYPED)).to_be_visible()
    assert demo.desk.payments("ORD-1017") == []


def test_an_edit_replaces_the_request(demo: Demo) -> None:
    demo.opens("Ben Ortiz")
    demo.says("My headphones arrived broken, I want my money back")
    card = demo.card("ORD-1008")

    card.get_by_role("button", name="Edit").click()
    amount = demo.dialog.get_by_label("Amount in USD")
    expect(amount).to_have_value("129.00")
    amount.fill("129.001")
    demo.dialog.get_by_role("button", name="Save").click()
    block = demo.dialog.locator(".block-input", has_text="Amount in USD")
    expect(block.get_by_role("alert")).not_to_be_empty()
    expect(amount).to_be_focused()

    amount.fill("100")
    demo.dialog.get_by_role("button", name="Save").click()

    expect(demo.chip("replaced", "129.00 USD")).to_be_visible()
    expect(demo.chip("done", "100.00 USD on order ORD-1008")).to_be_visible()
    expect(card).to_have_count(2)
    expect(card.first).to_contain_text("Replaced by an edit by @Ana Ribeiro")
    expect(card.last).to_contain_text("Amount: 129.00 USD → 100.00 USD")
    card.first.get_by_role("link").click()
    expect(card.last).to_be_in_viewport()
    assert [one["amount"]["minor"] for one in demo.desk.payments("ORD-1008")] == [10000]


def test_markup_is_text_on_both_sides(demo: Demo) -> None:
    demo.opens("David Okafor")

    demo.says(f"{MARKUP} My desk arrived broken, I want my money back")

    bubble = demo.log.locator(".turn.customer .bubble", has_text="stars")
    expect(bubble).to_contain_text(MARKUP)
    quoted = demo.card("ORD-1005").locator("blockquote", has_text="stars").first
    expect(quoted).to_contain_text(MARKUP)
    for shown in (bubble, quoted):
        expect(shown.locator("b, i, img, strong, code, .mention")).to_have_count(0)
    # What a person writes in Slack is escaped there, so it is text here too.
    composer = demo.page.get_by_label("Message or slash command")
    composer.fill("<b>me</b> & <!channel> *mine*")
    composer.press("Enter")
    said = demo.page.locator(".said", has_text="me")
    expect(said).to_have_text("<b>me</b> & <!channel> mine")
    expect(said.locator("strong")).to_have_text("mine")
    expect(said.locator(".mention, b")).to_have_count(0)


def test_the_keyboard_is_enough(demo: Demo) -> None:
    demo.opens("Yuki Tanaka")
    keyboard, composer = demo.page.keyboard, demo.page.get_by_label("Your message")
    demo.page.get_by_label("Signed in as").focus()

    for _ in range(12):
        if composer.evaluate("node => node === node.getRootNode().activeElement"):
            break
        keyboard.press("Tab")
    keyboard.type("Where is")
    keyboard.press("Shift+Enter")
    keyboard.type("my order?")
    keyboard.press("Enter")

    asked = demo.log.locator(".turn.customer", has_text="Where is")
    expect(asked.locator(".bubble")).to_have_text("Where is\nmy order?", use_inner_text=True)
    expect(demo.log.locator(".turn.agent").last).to_contain_text("ORD-1012")
    expect(composer).to_have_value("")
    expect(composer).to_be_focused()


def test_enter_does_not_send_while_an_input_method_composes(demo: Demo) -> None:
    demo.opens("Yuki Tanaka")
    composer = demo.page.get_by_label("Your message")
    composer.fill("払い戻し")

    composer.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})

    expect(composer).to_have_value("払い戻し")
    expect(demo.log.get_by_text("払い戻し")).to_have_count(0)


def test_a_message_that_is_too_long_is_cut_before_it_leaves(demo: Demo) -> None:
    demo.opens("Jonas Keller")
    composer = demo.page.get_by_label("Your message")

    composer.fill("x" * 4_001)
    expect(demo.chat.locator("#count")).to_contain_text("4,000 characters; the rest was left out")
    expect(composer).to_have_value("x" * 4_000)

    composer.fill("x" * 3_999)
    expect(demo.chat.locator("#count")).to_have_text("3,999 of 4,000 characters")
    composer.press("Enter")
    expect(demo.log.locator(".turn.customer").last).to_contain_text("x" * 3_999)


def test_a_lost_connection_loses_and_doubles_nothing(demo: Demo) -> None:
    demo.opens("Priya Raman")
    demo.says("Where is ORD-1006?")
    expect(demo.log.locator(".turn.agent").last).to_contain_text("ORD-1006")

    demo.page.context.set_offline(True)
    demo.says("And ORD-1010?")
    expect(demo.chat.locator(".turn.waiting")).to_contain_text("And ORD-1010?")
    expect(demo.connection).to_contain_text("Messages are sent when you are back")
    demo.page.context.set_offline(False)

    expect(demo.log.locator(".turn.agent").last).to_contain_text("ORD-1010")
    expect(demo.connection).to_have_text("Online")
    expect(demo.log.get_by_text("And ORD-1010?")).to_have_count(1)
    demo.page.reload()
    expect(demo.log.get_by_text("And ORD-1010?")).to_have_count(1)
    assert all("Failed to load resource" in problem for problem in demo.problems)
    demo.problems.clear()


def test_a_lost_answer_doubles_nothing(demo: Demo) -> None:
    demo.opens("Priya Raman")

    def lose_answer(route: Route) -> None:
        assert route.fetch().status == httpx.codes.ACCEPTED
        route.abort()

    demo.page.route("**/chat/conversations/*/messages", lose_answer, times=1)
    demo.says("Is ORD-1011 on its way?")

    expect(demo.log.locator(".turn.agent").last).to_contain_text("ORD-1011")
    expect(demo.chat.locator(".turn.waiting")).to_have_count(0)
    expect(demo.log.get_by_text("Is ORD-1011 on its way?")).to_have_count(1)
    assert len(demo.problems) == 1
    demo.problems.clear()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 401, "body": "", "ms": 3.1}, "status 401"),
        ({"status": 0, "body": "timeout", "ms": 3000.4}, "timeout after 3000 ms"),
    ],
)
def test_a_click_without_an_acknowledgement_shows_it(
    demo: Demo, answer: dict[str, Any], words: str
) -> None:
    demo.opens("Priya Raman")
    demo.says("My sofa arrived broken, I want my money back")
    card = demo.card("ORD-1004")
    problem = {"problem": "We had some trouble connecting. Try again?"}

    def lost(route: Route) -> None:
        route.fulfill(json=answer | problem)

    demo.page.route("**/sandbox/slack/click", lost)
    card.get_by_role("button", name="Details").click()

    expect(card.get_by_role("alert")).to_have_text(f"{problem['problem']} ({words})")
    demo.page.unroute("**/sandbox/slack/click")
    card.get_by_role("button", name="Details").click()
    expect(demo.dialog).to_contain_text("Review refund")
    expect(card.get_by_role("alert")).to_have_count(0)
    demo.page.keyboard.press("Escape")
    expect(demo.dialog).to_have_count(0)
    eventually(lambda: not demo.desk.get("/sandbox/slack/views", user="ana").json(), "closed form")


def test_a_command_is_answered_to_the_asker_alone(demo: Demo) -> None:
    demo.opens(person="Mia Lindqvist")
    composer = demo.page.get_by_label("Message or slash command")

    composer.fill("/refunds help")
    composer.press("Enter")

    told = demo.page.locator(".private", has_text="/refunds pending")
    expect(told.locator("code").first).to_have_text("/refunds pending")
    demo.becomes("Max Okonkwo")
    expect(told).to_have_count(0)
    demo.becomes("Mia Lindqvist")
    told.get_by_role("button", name="Dismiss").click()
    expect(told).to_have_count(0)


def test_the_home_tab_shows_the_queue(demo: Demo) -> None:
    demo.opens("Yuki Tanaka")
    demo.says("My cooker arrived broken, I want my money back")
    expect(demo.chip("pending", "24,800 JPY")).to_be_visible()

    demo.page.get_by_role("button", name="Supportdesk Home").click()

    home = demo.page.get_by_label("Home", exact=True)
    expect(home).to_contain_text(re.compile("waits? for you"))
    expect(home).to_contain_text("Refund of 24,800 JPY · ORD-1012")
    home.get_by_role("button", name="Review").last.click()
    expect(demo.dialog).to_contain_text("Review refund")
    demo.dialog.get_by_role("button", name="Approve").click()
    # Nobody opens the tab again: it is drawn anew because something has changed.
    decided = r"24,800 JPY · ORD-1012 · Yuki T\. · [^·]*You approved it · ✅ Approved and paid"
    expect(home).to_contain_text(re.compile(decided))
    demo.becomes("Gus Petrov")
    expect(home).to_contain_text("Guests and accounts that are switched off")


def test_a_request_can_be_withdrawn(demo: Demo) -> None:
    demo.opens("Clara Nguyen")
    demo.says("I want all my money back for ORD-1013")

    expect(demo.chip("pending", "ORD-1013")).to_be_visible()
    demo.chip("pending", "ORD-1013").get_by_role("button", name="Withdraw").click()

    expect(demo.chip("withdrawn", "62.00 USD on order ORD-1013")).to_be_visible()
    expect(demo.card("ORD-1013")).to_contain_text("Withdrawn")


def test_a_phone_shows_one_half_at_a_time(narrow_demo: Demo) -> None:
    demo = narrow_demo
    demo.page.goto(demo.desk.url)
    demo.page.get_by_label("Signed in as").select_option("David Okafor")
    slack = demo.page.get_by_role("tab", name="Slack")
    expect(demo.page.locator("#slack")).to_be_hidden()

    demo.says("I want my 89.00 USD back for ORD-1015")

    expect(demo.chip("pending", "ORD-1015")).to_be_visible()
    expect(slack).to_contain_text("(new)", use_inner_text=True)
    slack.press("ArrowRight")
    slack.click()
    expect(demo.page.locator("#shop")).to_be_hidden()
    expect(demo.card("ORD-1015")).to_be_visible()
    expect(slack).not_to_contain_text("(new)", use_inner_text=True)
    wide = demo.page.evaluate("document.documentElement.scrollWidth")
    assert wide == 360


def test_nobody_decides_in_time(hasty_demo: Demo) -> None:
    hasty_demo.opens()

    hasty_demo.says("The chair arrived broken, I want my money back")

    expect(hasty_demo.chip("expired", "nobody decided in time")).to_be_visible()
    card = hasty_demo.card("ORD-1001")
    expect(card).to_contain_text("Nobody decided in time; nothing was paid.")
    expect(card.get_by_role("button", name="Approve")).to_have_count(0)


def test_the_breaker_is_seen_to_open(hasty_demo: Demo) -> None:
    hasty_demo.opens("Ben Ortiz", person="Olu Bankole")
    for order_id in ("ORD-1003", "ORD-1016"):
        hasty_demo.says(f"Refund $5 on {order_id}")

    expect(hasty_demo.page.locator("#breaker")).to_contain_text("Breaker open")
    oncall = hasty_demo.page.get_by_role("button", name="oncall")
    expect(oncall).to_contain_text("unread")
    oncall.click()
    expect(oncall).not_to_contain_text("unread")
    alert = hasty_demo.card("Refund breaker opened")
    alert.get_by_role("button", name="Acknowledge").click()
    expect(hasty_demo.page.locator(".private").last).to_be_visible()


def test_the_page_outlives_a_restart_of_the_desk(hasty_demo: Demo) -> None:
    demo, desk = hasty_demo, hasty_demo.desk
    demo.opens("Sofia Marino")
    demo.says("Where is my order?")
    expect(demo.log.locator(".turn.agent").last).to_contain_text("ORD-1017")

    # Every token is new afterwards, the customer's and the team's.
    desk.stop()
    expect(demo.connection).to_have_text("Reconnecting …")
    expect(demo.page.locator("#breaker")).to_contain_text("Desk not reachable")
    expect(demo.page.locator("#slack .offline")).to_be_visible()
    desk.start()
    demo.says("And what did it cost?")

    expect(demo.log.get_by_text("And what did it cost?")).to_have_count(1)
    expect(demo.log.locator(".turn.agent")).to_have_count(3)
    expect(demo.connection).to_have_text("Online")
    expect(demo.page.locator("#breaker")).to_contain_text("Breaker")
    expect(demo.page.locator("#slack .offline")).to_be_hidden()
    assert all("Failed to load resource" in problem for problem in demo.problems)
    demo.problems.clear()


def test_the_policy_lets_nothing_in(desk: DeskProcess) -> None:
    for path in ("/", "/js/main.js", "/css/base.css", "/icons.svg", "/workspace.json"):
        answer = desk.get(path)
        assert answer.status_code == httpx.codes.OK, path
        policy = answer.headers["content-security-policy"].split("; ")
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert desk.get("/js/none.js").status_code == httpx.codes.NOT_FOUND
    assert "text/javascript" in desk.get("/js/main.js").headers["content-type"]


def test_blocks_are_drawn_as_slack_draws_them(demo: Demo) -> None:
    demo.opens()

    drawn = _drawn(
        demo.page,
        [
            {"type": "header", "text": {"type": "plain_text", "text": "A &amp;lt; B"}},
            {
                "type": "section",
                "text": {
                    "type": "mrkdwn",
                    "text": "*b* _i_ ~s~ `c*c*` 2*3*4 snake_case_name &lt;u&gt; &amp;amp; "
                    "<@U07ANARIBEI> <!subteam^S07ONCALL> <!here> <#C07ONCALL> "
                    "<https://example.com/?a=1&amp;b=2|*link*> <javascript:alert(1)|bad> "
                    "<!date^0^{date_num}|then> :tada: :nobody:\n&gt; quoted",
                },
            },
            {
                "type": "rich_text",
                "elements": [
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "*x* &lt; <@U07ANARIBEI>"},
                            {"type": "user", "user_id": "U07BENORTIZ"},
                            {"type": "text", "text": "y", "style": {"bold": True, "code": True}},
                        ],
                    },
                    {
                        "type": "rich_text_preformatted",
                        "elements": [{"type": "text", "text": "<b>\n  &amp;"}],
                    },
                ],
            },
            {
                "type": "table",
                "rows": [[{"type": "raw_text", "text": "<td>&lt;"}]],
                "column_settings": [{"align": "right"}],
            },
            {"type": "image", "image_url": "https://example.com/x.png", "alt_text": "a chart"},
            {"type": "video"},
        ],
    )

    header, section, rich, table, image, unknown = drawn
    assert header == "<h4>A &amp;lt; B</h4>"
    assert section.startswith(
        "<strong>b</strong> <em>i</em> <s>s</s> <code>c*c*</code> 2*3*4 snake_case_name "
        "&lt;u&gt; &amp;amp; <span>@Ana Ribeiro</span> <span>@oncall</span> <span>@here</span> "
        '<span>#oncall</span> <a href="https://example.com/?a=1&amp;b=2">*link*</a> '
        "&lt;javascript:alert(1)|bad&gt; "
    )
    assert section.endswith("🎉 :nobody:\n<blockquote>quoted</blockquote>")
    assert "1970-01-01" in section or "1969-12-31" in section
    assert "<p>*x* &amp;lt; &lt;@U07ANARIBEI&gt;<span>@Ben Ortiz</span>" in rich
    assert "<code><strong>y</strong></code></p>" in rich
    assert "<pre>&lt;b&gt;\n  &amp;amp;</pre>" in rich
    assert "<td>&lt;td&gt;&amp;lt;</td>" in table
    assert "Image: a chart" in image
    assert "is not drawn here" in unknown


def _drawn(page: Page, blocks: list[dict[str, Any]]) -> list[str]:
    """Draw blocks with the page's own code and return their HTML, without looks."""
    script = """async (blocks) => {
      const { drawBlocks } = await import("/js/blocks.js");
      const { SlackStore } = await import("/js/slack-store.js");
      const workspace = await (await fetch("/workspace.json")).json();
      const store = new SlackStore(workspace, () => true, () => {});
      await store.pull();
      const surface = { key: "t", names: store.names, act: () => {} };
      return drawBlocks(blocks, surface).map((node) => {
        for (const one of [node, ...node.querySelectorAll("*")]) {
          for (const { name } of [...one.attributes].filter(({ name }) => name !== "href")) {
            one.removeAttribute(name);
          }
        }
        const section = node.querySelector("div > div");
        return node.tagName === "DIV" && section && !node.querySelector("pre, table")
          ? section.firstElementChild.innerHTML
          : node.outerHTML;
      });
    }"""
    return list(page.evaluate(script, blocks))
