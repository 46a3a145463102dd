"""The chat on a shop's own page: another origin, and a policy that lets nothing else in."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect
from typing_extensions import override

from bot.web.widget_scripts import FOLDER
from tests.support.process import DeskProcess, running_desk

PENDING = "needs a quick review by our team"
SENT = "**/messages"
CUT = re.compile(r"net::ERR_FAILED|ERR_INTERNET_DISCONNECTED")


@dataclass
class Shop:
    """A shop's site: one page with the two lines, and who is signed in."""

    url: str
    desk_url: str = ""
    customer: str | None = None
    attributes: str = ""
    connect: str = "'self'"
    tokens: int = 0

    @property
    def page(self) -> str:
        """The page."""
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><h1>Shop</h1>'
            f'<script type="module" src="{self.desk_url}/widget/v1/desk.js"></script>'
            f'<support-desk token-url="/desk-token" {self.attributes}></support-desk></html>'
        )

    @property
    def policy(self) -> str:
        """The strictest policy that the chat works under."""
        return (
            f"default-src 'none'; script-src {self.desk_url}; connect-src {self.connect}; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        )


class _Handler(BaseHTTPRequestHandler):
    shop: ClassVar[Shop]
    desk: ClassVar[DeskProcess]

    def do_GET(self) -> None:
        is_page = self.path == "/"
        self._answer(200 if is_page else 204, self.shop.page if is_page else "", "text/html")

    def do_POST(self) -> None:
        self.shop.tokens += 1
        if self.shop.customer is None:
            self._answer(204, "", "text/plain")
            return
        body = {"customer_id": self.shop.customer}
        token = self.desk.post("/sandbox/shop/token", body).text
        self._answer(200, token, "application/json")

    def _answer(self, status: int, text: str, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{media_type}; charset=utf-8")
        self.send_header("Content-Security-Policy", self.shop.policy)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@dataclass
class Site:
    """The shop, its desk, and the browsers that look at it."""

    shop: Shop
    desk: DeskProcess
    browser: Browser
    problems: list[str] = field(default_factory=list)

    @contextmanager
    def visitor(self, **how: object) -> Iterator[BrowserContext]:
        """Open a browser of somebody; what it complains about is kept."""
        context = self.browser.new_context(**how)  # type: ignore[arg-type]
        context.set_default_timeout(20_000)
        try:
            yield context
        finally:
            context.close()

    def opens(self, context: BrowserContext) -> Page:
        """Load the shop's page in another tab and open the chat."""
        page = context.new_page()
        page.on(
            "console",
            lambda said: self.problems.append(said.text) if said.type == "error" else None,
        )
        page.on("pageerror", lambda error: self.problems.append(error.stack or error.message))
        page.goto(self.shop.url)
        launcher = page.get_by_role("button", name="Support chat")
        if launcher.get_attribute("aria-expanded") == "false":
            launcher.click()
        return page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Site]:
    """Run a shop and its desk for all tests here: each uses a customer of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with running_desk(tmp_path_factory.mktemp("shop"), WIDGET_ORIGINS=url) as desk:
        _Handler.shop, _Handler.desk = Shop(url, desk.url), desk
        try:
            yield Site(_Handler.shop, desk, chromium)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@pytest.fixture(autouse=True)
def calm(site: Site) -> Iterator[None]:
    """Begin with nobody signed in; whatever a browser complained about fails the test."""
    shop = site.shop
    shop.customer, shop.attributes, shop.connect = None, "", f"'self' {site.desk.url}"
    site.problems.clear()
    yield
    assert [one for one in site.problems if not CUT.search(one)] == []


def says(page: Page, words: str) -> None:
    composer = page.get_by_label("Your message")
    composer.fill(words)
    composer.press("Enter")


def log(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation")


def chip(page: Page) -> Locator:
    return log(page).locator("[data-approval]")


def allow(site: Site) -> dict[str, str]:
    return {"access-control-allow-origin": site.shop.url}


def client_id(route: Route) -> str:
    return str(json.loads(route.request.post_data or "")["client_id"])


def sent(desk: DeskProcess, text: str) -> int:
    """Return how often the desk has stored a customer's message."""
    rows = desk.rows("SELECT data FROM events WHERE type = 'message'")
    found = [
        row["data"] if isinstance(row["data"], dict) else json.loads(row["data"]) for row in rows
    ]
    return sum(one["role"] == "customer" and one["text"] == text for one in found)


def test_a_request_is_asked_for_decided_and_read_on_a_page_that_allows_nothing_else(
    site: Site,
) -> None:
    site.shop.customer = "cus_clara"
    with site.visitor() as context:
        page = site.opens(context)
        expect(page.get_by_label("Your message")).to_be_focused()
        says(page, "The chair arrived broken, I want my money back")

        expect(chip(page)).to_have_attribute("data-status", "pending")
        expect(chip(page)).to_contain_text("Waiting for review")
        expect(chip(page)).to_contain_text(PENDING)
        expect(chip(page).get_by_role("button", name="Withdraw request")).to_be_visible()
        expect(log(page).locator("[data-role=agent]")).to_contain_text("I will tell you here")
        page.keyboard.press("Escape")
        launcher = page.get_by_role("button", name="Support chat")
        expect(launcher).to_be_focused()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.close()

        (approval,) = site.desk.waiting()
        assert site.desk.decides("approve", approval, site.desk.staff("ana")).is_success
        site.desk.becomes(approval["id"], "executed")
        page = context.new_page()
        page.goto(site.shop.url)
        expect(page.get_by_role("button", name=re.compile("Unread messages: 1"))).to_be_visible()
        page.get_by_role("button", name="Support chat").click()
        expect(chip(page)).to_have_count(1)
        expect(chip(page)).to_have_attribute("data-status", "done")
        expect(chip(page)).to_contain_text("Done")
        expect(log(page)).to_contain_text("has been refunded on ORD-1001")
        expect(page.get_by_role("button", name=re.compile("Unread"))).to_have_count(0)


def test_what_cannot_be_sent_waits_in_order_and_is_sent_once(site: Site) -> None:
    site.shop.customer = "cus_sofia"
    with site.visitor() as context:
        page = site.opens(context)
        tries: list[str] = []

        def cut(route: Route) -> None:
            tries.append(client_id(route))
            route.abort()

        context.route(SENT, cut)
        says(page, "first of two")
        says(page, "second of two")
        own = page.locator("[data-state]")
        expect(own).to_have_count(2)
        expect(own.first).to_have_attribute("data-state", "failed")
        expect(own.first).to_contain_text("Not sent.")
        expect(own.last).to_have_attribute("data-state", "waiting")
        assert len(set(tries)) == 1

        page.reload()
        expect(own).to_have_count(2)
        expect(own.first).to_contain_text("first of two")
        lost: list[str] = []

        def lose(route: Route) -> None:
            route.fetch()
            lost.append(client_id(route))
            route.abort()

        context.route(SENT, lose)
        expect(log(page).locator("[data-role=customer]")).to_have_count(2)
        expect(own).to_have_count(0)
        told = log(page).locator("[data-role=customer] .bubble").all_inner_texts()
        assert told == ["first of two", "second of two"]
        assert {lost[0]} == set(tries)
        assert sent(site.desk, "first of two") == sent(site.desk, "second of two") == 1


def test_a_visitor_who_signs_in_keeps_the_chat_and_who_comes_next_sees_nothing_of_it(
    site: Site,
) -> None:
    with site.visitor() as context:
        # Said before the shop has even told who it is.
        asked: list[Route] = []

        def hold(route: Route) -> None:
            asked.append(route)

        context.route("**/desk-token", hold)
        page = site.opens(context)
        says(page, "What is your return policy?")
        expect(page.locator("[data-state=waiting]")).to_have_count(1)
        asked[0].continue_()
        context.unroute("**/desk-token")
        expect(log(page).locator("[data-role=agent]")).to_have_count(1)
        page.reload()
        expect(log(page)).to_contain_text("What is your return policy?")

        site.shop.customer = "cus_priya"
        page.evaluate("document.querySelector('support-desk').reset()")
        says(page, "Now I have signed in")
        expect(log(page).locator("[data-role=customer]")).to_have_count(2)
        expect(log(page).locator("[data-role=agent]")).to_have_count(2)
        stored = site.desk.rows(
            "SELECT customer_id FROM conversations WHERE customer_id LIKE 'cus_pri%'"
        )
        assert len(stored) == 1

        site.shop.customer = "cus_jonas"
        page.evaluate("document.querySelector('support-desk').reset()")
        expect(log(page).locator("[data-role]")).to_have_count(0)
        kept = page.evaluate("JSON.stringify(localStorage)")
        assert "policy" not in kept
        assert "priya" not in kept
        # The next load of a page finds out by itself, too.
        says(page, "I am somebody else")
        expect(log(page).locator("[data-role=agent]")).to_have_count(1)
        site.shop.customer = None
        page.reload()
        expect(log(page)).to_contain_text("Hello")
        expect(page.locator(".connection")).to_have_text("Online")
        expect(log(page).locator("[data-role]")).to_have_count(0)
        assert "cus_jonas" not in page.evaluate("JSON.stringify(localStorage)")


def test_one_tab_talks_for_all_and_another_takes_over(site: Site) -> None:
    site.shop.customer = "cus_ben"
    with site.visitor() as context:
        streams: list[Page] = []
        context.on(
            "request",
            lambda one: streams.append(one.frame.page) if one.url.endswith("/events") else None,
        )
        pages = [site.opens(context) for _ in range(3)]
        says(pages[0], "Where is my order?")
        for page in pages:
            expect(log(page).locator("[data-role=customer]")).to_have_count(1)
            expect(log(page).locator("[data-role=agent]")).to_have_count(1)
        leader = streams[-1]
        assert len(set(streams)) == 1
        leader.close()
        left = [page for page in pages if page is not leader]
        says(left[0], "And the other one?")
        for page in left:
            expect(log(page).locator("[data-role=agent]")).to_have_count(2)
            expect(log(page).locator("[data-role=customer]")).to_have_count(2)
        assert sent(site.desk, "And the other one?") == 1


def test_typing_is_safe_whatever_is_typed_with(site: Site) -> None:
    site.shop.customer = "cus_yuki"
    with site.visitor() as context:
        page = site.opens(context)
        composer = page.get_by_label("Your message")
        ime = context.new_cdp_session(page)
        ime.send(
            "Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2}
        )
        composer.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
        composer.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
        ime.send("Input.insertText", {"text": "日本"})
        expect(composer).to_have_value("日本")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("two")
        expect(composer).to_have_value("日本\ntwo")
        page.keyboard.press("Enter")
        expect(log(page).locator("[data-role=customer] .bubble")).to_have_text("日本\ntwo")

        page.evaluate(
            """text => {
              const { shadowRoot } = document.querySelector('support-desk');
              const box = shadowRoot.querySelector('textarea');
              box.focus();
              box.setRangeText(text);
              box.dispatchEvent(new InputEvent('input', { bubbles: true }));
            }""",
            "😀" * 200_000,
        )
        assert composer.evaluate("box => [...box.value].length") == 4_000
        expect(page.locator("#count")).to_contain_text("the rest was left out")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        composer.fill("<img src=x onerror=alert(1)> [a](javascript:alert(1)) **b**")
        composer.press("Enter")
        expect(log(page).locator("[data-role=customer] .bubble").last).to_have_text(
            "<img src=x onerror=alert(1)> [a](javascript:alert(1)) **b**"
        )


def test_a_policy_without_the_desk_is_told_once(site: Site) -> None:
    site.shop.customer, site.shop.connect = "cus_clara", "'self'"
    with site.visitor() as context:
        page = site.opens(context)
        expect(page.get_by_role("alert")).to_contain_text("Chat can't reach the support desk.")
        told = [one for one in site.problems if one.startswith("<support-desk>")]
        assert len(told) == 1
        assert f"connect-src {site.desk.url}" in told[0]
        site.problems.clear()


def test_whatever_stands_in_the_way_is_told_and_gone_when_it_is(site: Site) -> None:
    site.shop.customer = "cus_david"
    with site.visitor() as context:
        page = site.opens(context)
        says(page, "What is your return policy?")
        expect(log(page).locator("[data-role=agent]")).to_have_count(1)

        # A proxy keeps the stream back: what is said comes in all the same.
        context.route("**/events", lambda _route: None)
        page.reload()
        says(page, "And how long does a refund take?")
        expect(log(page).locator("[data-role=agent]")).to_have_count(2)
        context.unroute("**/events")

        context.route("**/events", lambda route: route.fulfill(status=404, headers=allow(site)))
        page.reload()
        banner = page.locator(".banner")
        expect(banner).to_contain_text("not available any more")
        context.unroute("**/events")
        banner.get_by_role("button", name="Try again").click()
        expect(banner).to_be_hidden()
        expect(page.locator(".connection")).to_have_text("Online")

        page.evaluate("addEventListener('desk-signin', () => document.title = 'asked to sign in')")
        context.route("**/messages", lambda route: route.fulfill(status=401, headers=allow(site)))
        site.shop.customer = None
        says(page, "Kept until I am back")
        expect(banner).to_contain_text("Please sign in again.")
        expect(page).to_have_title("asked to sign in")
        expect(log(page).locator("[data-role=agent]")).to_have_count(2)
        context.unroute("**/messages")
        site.shop.customer = "cus_david"
        banner.get_by_role("button", name="Try again").click()
        expect(log(page)).to_contain_text("Kept until I am back")
        expect(log(page).locator("[data-role=agent]")).to_have_count(3)
        assert sent(site.desk, "Kept until I am back") == 1
        site.problems[:] = [one for one in site.problems if not re.search("40[14]", one)]


def test_the_end_of_a_chat_is_a_rating_that_every_tab_shows(site: Site) -> None:
    site.shop.customer = "cus_yuki"
    with site.visitor() as context:
        page, other = site.opens(context), site.opens(context)
        says(page, "The rice cooker arrived broken, I want my money back")
        expect(chip(other)).to_have_attribute("data-status", "pending")
        chip(other).get_by_role("button", name="Withdraw request").click()
        for one in (page, other):
            expect(chip(one)).to_have_count(1)
            expect(chip(one)).to_have_attribute("data-status", "withdrawn")
            expect(chip(one)).to_contain_text("Withdrawn")
            expect(chip(one).get_by_role("button")).to_have_count(0)
        page.get_by_role("button", name="End chat").click()
        page.get_by_role("radio", name=re.compile("Good")).first.check()
        page.get_by_label("Anything to add?").fill("Quick and friendly")
        page.get_by_role("button", name="Send rating").click()
        for one in (page, other):
            expect(log(one)).to_contain_text("You rated this chat 4 of 5. Thank you!")
        expect(page.get_by_label("Your message")).to_be_visible()
        (row,) = site.desk.rows("SELECT rating_comment FROM conversations WHERE rating = 4")
        assert row["rating_comment"] == "Quick and friendly"


def test_words_that_nobody_ends_leave_the_screen(chromium: Browser) -> None:
    """A person came while the agent spoke: no event ends what it had begun to say."""
    module = (FOLDER / "log.js").read_text("utf-8")
    heard = """async (text) => {
      const { Log } = await import("data:text/javascript," + encodeURIComponent(text));
      const log = new Log();
      const delta = { run_id: "run_1", offset: 0, text: "I thi" };
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
        assert page.evaluate(heard, module) == ["I thi", "I thi", None]
    finally:
        page.close()
