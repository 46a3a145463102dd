"""What the widget takes and says: typing, markup, ratings, languages, what stands in the way."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Route, expect

from bot.web.widget_scripts import FOLDER
from tests.browser.shopper import Street, Tab, approve, pending_of, shopping

STREAM = "**/events"
LONG_LOG = 2_000
MARKUP = (
    "ECHO **bold** `code` [our rules](https://shop.example/a?b=1) https://desk.example/x.\n"
    "[go](javascript:alert(1)) [data](data:text/html,x) ![pic](https://evil.example/p.png)\n"
    "<img src=x onerror=alert(1)> <b>no</b>\n- one\n- **two**\n1. first\n```\n**kept**\n```\n"
    "[https://bank.example](https://evil.example)"
)


def shown_as(tab: Tab, selector: str) -> list[str]:
    """Return the texts of what the newest answer holds."""
    return tab.turns("agent").last.locator(selector).all_inner_texts()


def test_words_stay_words_whatever_they_are_typed_with(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_david") as david:
        tab = david.tab().opens()
        composer, keys = tab.composer, tab.page.keyboard
        ime = david.context.new_cdp_session(tab.page)
        ime.send(
            "Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2}
        )
        composer.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
        composer.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
        ime.send("Input.insertText", {"text": "日本"})
        expect(composer).to_have_value("日本")
        keys.press("Shift+Enter")
        keys.type("two")
        keys.press("Enter")
        expect(tab.turns("customer").locator(".bubble")).to_have_text(["日本\ntwo"])

        pasted = "😀" * 200_000
        keys.insert_text(pasted)
        assert composer.evaluate("box => [...box.value].length") == 4_000
        expect(tab.widget.locator("#count")).to_contain_text("the rest was left out")
        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

        tab.says(MARKUP)
        expect(tab.turns("customer").locator(".bubble").last).to_have_text(MARKUP)
        expect(tab.turns("agent")).to_have_count(2)
        assert shown_as(tab, "strong") == ["bold", "two"]
        assert shown_as(tab, "code") == ["code", "**kept**"]
        assert shown_as(tab, "li") == ["one", "two", "first"]
        links = tab.turns("agent").last.locator("a")
        assert [one.get_attribute("href") for one in links.all()] == [
            "https://shop.example/a?b=1",
            "https://desk.example/x",
            # Of a picture only its place is left.
            "https://evil.example/p.png",
            "https://evil.example/",
        ]
        assert {one.get_attribute("rel") for one in links.all()} == {
            "noopener noreferrer nofollow ugc"
        }
        # Where a link leads is said beside whatever it calls itself.
        assert shown_as(tab, "small") == [" (shop.example)", " (evil.example)", " (evil.example)"]
        assert tab.log.locator("img").count() == 0
        for words in ("[go](javascript:alert(1))", "<img src=x onerror=alert(1)>", "<b>no</b>"):
            expect(tab.turns("agent").last).to_contain_text(words)
        david.stays_at_home()


def test_a_proxy_that_keeps_the_stream_back_only_makes_it_slower(
    street: Street, chromium: Browser
) -> None:
    with shopping(street, chromium, "cus_priya") as priya:
        priya.context.route(STREAM, lambda _route: None)
        tab = priya.tab().opens()
        tab.asks("Is anybody there?", "You said: Is anybody there?")
        expect(tab.widget.locator(".connection")).to_have_text("Online")
        expect(tab.widget.locator(".typing")).to_be_hidden()
        shows_a_long_log(tab)


def shows_a_long_log(tab: Tab) -> None:
    """Load a page onto 2,000 messages: they are laid out together, not one by one."""

    def answer(route: Route) -> None:
        after = int(parse_qs(urlsplit(route.request.url).query)["after"][0])
        events = [long_ago(seq) for seq in range(after + 1, min(after + 500, LONG_LOG) + 1)]
        allowed = {"Access-Control-Allow-Origin": tab.street.site.url}
        route.fulfill(headers=allowed, json={"events": events, "last_seq": LONG_LOG})

    devtools = tab.page.context.new_cdp_session(tab.page)
    devtools.send("Performance.enable")
    tab.page.route("**/events?after=*", answer)
    tab.page.reload()
    expect(tab.log.locator("[data-role]")).to_have_count(LONG_LOG)
    expect(tab.turns("customer", f"number {LONG_LOG}.")).to_be_in_viewport()
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    (layouts,) = (one["value"] for one in metrics if one["name"] == "LayoutCount")
    assert 0 < layouts < LONG_LOG / 10


def long_ago(seq: int) -> dict[str, Any]:
    """Return one of very many messages, every other of them from the customer."""
    role = ("customer", "agent")[seq % 2]
    data = {"message_id": f"m{seq}", "role": role, "text": f"number {seq}.", "finish": "complete"}
    return {"seq": seq, "at": "2026-03-01T10:00:00Z", "type": "message", "data": data}


def test_what_the_desk_refuses_is_said_and_can_be_tried_again(
    street: Street, chromium: Browser
) -> None:
    allowed = {"access-control-allow-origin": street.site.url}
    with shopping(street, chromium, "cus_yuki") as yuki:
        context, refused = yuki.context, [404]

        def refuse(route: Route) -> None:
            route.fulfill(status=refused[0], headers=allowed)

        tab = yuki.tab().opens()
        tab.asks("Hello", "You said: Hello")
        tab.page.close()
        context.route(STREAM, refuse)
        tab = yuki.tab().opens()
        banner = tab.widget.locator(".banner")
        expect(banner).to_contain_text("This chat is not available any more.")
        context.unroute(STREAM)
        tab.button("Try again").click()
        expect(banner).to_be_hidden()
        expect(tab.widget.locator(".connection")).to_have_text("Online")
        tab.asks("Before", "You said: Before")

        tab.page.evaluate("addEventListener('desk-signin', () => document.title = 'sign in')")
        refused[0] = 401
        context.route("**/messages", refuse)
        yuki.signs_out()
        tab.says("Kept until I am back")
        expect(banner).to_contain_text("Please sign in again.")
        expect(tab.page).to_have_title("sign in")
        expect(tab.turns("agent", "You said: Before")).to_have_count(1)
        context.unroute("**/messages")
        yuki.signs_in("cus_yuki")
        tab.button("Try again").click()
        expect(tab.turns("agent", "You said: Kept until I am back")).to_have_count(1)

        keeps_what_is_too_long(tab, allowed)
        yuki.lost_the_line()


def keeps_what_is_too_long(tab: Tab, allowed: dict[str, str]) -> None:
    """The desk's limit may be another than the page's: nothing is lost."""
    context = tab.page.context
    too_long = json.dumps({"detail": "A message holds at most 10 characters."})
    context.route(
        "**/messages", lambda one: one.fulfill(status=413, headers=allowed, body=too_long)
    )
    tab.says("Longer than ten")
    expect(tab.widget.locator("[data-state=failed]")).to_contain_text("at most 10 characters.")
    # What was written after it does not overtake it.
    tab.says("Second")
    expect(tab.widget.locator("[data-state=waiting]")).to_contain_text("Second")
    expect(tab.widget.locator("[data-state=failed]")).to_have_count(1)
    context.unroute("**/messages")
    tab.button("Edit").click()
    expect(tab.composer).to_have_value("Longer than ten")
    expect(tab.turns("agent", "You said: Second")).to_have_count(1)
    expect(tab.widget.locator("[data-state]")).to_have_count(0)


def test_a_policy_without_the_desk_is_told_once(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_yuki") as yuki:
        tab = yuki.tab("?policy=own")
        tab.launcher.click()
        unreachable = "Chat can't reach the support desk."
        expect(tab.widget.get_by_role("alert")).to_contain_text(unreachable)
        tab.page.close()
        said = [one for one in yuki.problems if one.startswith("<support-desk>")]
        assert len(said) == 1
        assert f'"connect-src {street.line.url}"' in said[0]
        yuki.problems.clear()


def test_the_end_of_a_chat_is_a_rating_that_every_tab_shows(
    street: Street, chromium: Browser
) -> None:
    with shopping(street, chromium, "cus_sofia") as sofia:
        tabs = [sofia.tab().opens(), sofia.tab().opens()]
        tabs[0].asks("Thank you", "You said: Thank you")
        tabs[0].button("End chat").click()
        tabs[0].widget.get_by_role("radio", name="4 Good").check()
        tabs[0].widget.get_by_label("Anything to add?").fill("Quick and friendly")
        tabs[0].button("Send rating").click()
        for tab in tabs:
            expect(tab.log).to_contain_text("You rated this chat 4 of 5. Thank you!")
        expect(tabs[0].composer).to_be_visible()
        (row,) = street.desk.rows("SELECT rating_comment FROM conversations WHERE rating = 4")
        assert row["rating_comment"] == "Quick and friendly"


def test_a_customer_reads_their_own_language(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_jonas", locale="de-DE") as jonas:
        tab = jonas.tab("?lang=de").opens()
        expect(tab.widget.locator(".desk")).to_have_attribute("lang", "de")
        tab.says("REFUND ORD-1009 84.90 EUR")
        expect(tab.chips("pending")).to_contain_text("Wird geprüft")
        expect(tab.chips("pending")).to_contain_text("Erstattung von 84.90 EUR")
        approve(street, pending_of(street, "cus_jonas"))
        expect(tab.chips("done")).to_contain_text("Erledigt")
        expect(tab.chips("done").get_by_role("button")).to_have_count(0)

        # Where there are no words in a language, English ones are better than none.
        other = jonas.tab("?lang=tlh").opens()
        expect(other.chips("done")).to_contain_text("Done")
        arabic = jonas.tab("?lang=ar").opens()
        expect(arabic.widget.locator(".desk")).to_have_attribute("dir", "rtl")
        launcher = arabic.launcher.bounding_box()
        assert launcher is not None
        assert launcher["x"] < 100


def test_words_that_nobody_ends_leave_the_screen(chromium: Browser) -> None:
    """A person came while the agent spoke: no event ends what it had begun to say."""
    module = (FOLDER / "log.js").read_text("utf-8")
    heard = """async (text) => {
      const { Log } = await import("data:text/javascript," + encodeURIComponent(text));
      const log = new Log();
      const delta = { run_id: "run_1", offset: 0, text: "I am" };
      log.hear({ type: "status", data: { status: "thinking" } });
      log.hear({ type: "delta", data: delta });
      const before = log.draft?.text;
      log.hear({ type: "status", data: { status: "thinking" } });
      const still = log.draft?.text;
      log.hear({ type: "status", data: { status: "idle" } });
      return [before, still, log.draft];
    }"""
    page = chromium.new_page()
    try:
        assert page.evaluate(heard, module) == ["I am", "I am", None]
    finally:
        page.close()
