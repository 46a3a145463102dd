"""A customer's browser in front of the widget, by the names that people see."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.support.outside import Json, eventually
from tests.support.process import DeskProcess, free_port, made_desk
from tests.support.shop_site import COOKIE, ShopSite, shop_site
from tests.support.talking_model import TalkingModel, talking_model
from tests.support.tcp_proxy import TcpProxy, running_proxy

PATIENCE_MS = 20_000
LAUNCHER, PANEL = "Open support chat", "Support chat"


@dataclass
class Street:
    """A shop, the desk behind a line that can be cut, and the model that the desk asks."""

    desk: DeskProcess
    line: TcpProxy
    site: ShopSite
    model: TalkingModel

    @property
    def origins(self) -> set[str]:
        """The two that a shop's page may talk to."""
        return {self.site.url, self.line.url}


@contextmanager
def running_street(folder: Path) -> Iterator[Street]:
    """Run a shop with the two lines, and the desk behind a line that can be cut."""
    with ExitStack() as held:
        model = held.enter_context(talking_model())
        port = free_port()
        env = {**model.env, "WIDGET_ORIGINS": f"http://127.0.0.1:{port}", "SWEEP_INTERVAL_S": "1"}
        desk = held.enter_context(made_desk(folder, **env))
        desk.start()
        line = held.enter_context(running_proxy(desk.port))
        site = held.enter_context(shop_site(port, line.url, desk.signs))
        yield Street(desk, line, site, model)


@dataclass
class Tab:
    """One page of the shop."""

    page: Page
    street: Street

    def loads(self, query: str = "") -> "Tab":
        """Load the shop's page."""
        self.page.goto(f"{self.street.site.url}/{query}")
        return self

    def opens(self) -> "Tab":
        """Open the panel and wait until the chat is there."""
        self.launcher.click()
        expect(self.composer).to_be_visible()
        return self

    def says(self, words: str) -> None:
        """Type and press Enter."""
        self.composer.fill(words)
        self.composer.press("Enter")

    def asks(self, words: str, answer: str) -> None:
        """Say something and wait for an answer with these words."""
        self.says(words)
        expect(self.turns("agent", answer)).to_have_count(1)

    @property
    def widget(self) -> Locator:
        """The element."""
        return self.page.locator("support-desk")

    @property
    def launcher(self) -> Locator:
        """The button in the corner."""
        return self.widget.locator("[aria-expanded]").first

    @property
    def panel(self) -> Locator:
        """What it opens."""
        return self.widget.get_by_role("dialog")

    @property
    def composer(self) -> Locator:
        """Where one types."""
        return self.widget.locator("textarea").first

    @property
    def log(self) -> Locator:
        """What was said."""
        return self.widget.get_by_role("log")

    def button(self, name: str) -> Locator:
        """Return a button of the panel."""
        return self.widget.get_by_role("button", name=name)

    def turns(self, role: str, words: str = "") -> Locator:
        """Return the finished messages of a role that have these words."""
        return self.log.locator(f"[data-role={role}]", has_text=words)

    def chips(self, status: str, words: str = "") -> Locator:
        """Return the chips of a status that have these words."""
        return self.log.locator(f"[data-status={status}]", has_text=words)

    @property
    def mine(self) -> Locator:
        """All of the customer's own messages, those on their way too."""
        return self.widget.locator(".turn.customer .bubble")

    def until(self, look: Callable[[], bool], what: str) -> None:
        """Wait for something that the browser's own requests bring about."""

        def looks() -> bool:
            # The handlers of routes run while the page is asked for something.
            self.page.evaluate("null")
            return look()

        eventually(looks, what)

    def text(self) -> str:
        """Return every text of the page and of the widget's shadow, shown or not."""
        return str(
            self.page.evaluate(
                "() => document.documentElement.outerHTML + "
                "document.querySelector('support-desk').shadowRoot.innerHTML"
            )
        )


@dataclass
class Shopper:
    """One browser: what its tabs ask for, and what it complained about."""

    context: BrowserContext
    street: Street
    problems: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)

    def tab(self, query: str = "") -> Tab:
        """Open the shop in another tab."""
        return Tab(self.context.new_page(), self.street).loads(query)

    def signs_in(self, customer_id: str) -> None:
        """Get the shop's cookie, as after its sign-in page."""
        place = {"name": COOKIE, "value": customer_id, "url": self.street.site.url}
        self.context.add_cookies([place])  # type: ignore[list-item]

    def signs_out(self) -> None:
        """Lose the shop's cookie."""
        self.context.clear_cookies()

    def stays_at_home(self) -> None:
        """Check that nothing was asked of anybody but the shop and the desk."""
        elsewhere = {url for url in self.asked if _origin(url) not in self.street.origins}
        assert not elsewhere, elsewhere

    def lost_the_line(self) -> None:
        """Accept that the browser told of requests that could not be answered, and of no more."""
        # Half of an answer's headers are told of as a refusal.
        told = ("Failed to load resource", "net::ERR_", "blocked by CORS policy")
        others = [one for one in self.problems if not any(word in one for word in told)]
        self.problems.clear()
        assert not others, others


@contextmanager
def shopping(
    street: Street, browser: Browser, customer_id: str | None = None, **options: Any
) -> Iterator[Shopper]:
    """Open a browser until the block ends; whatever it complains about fails the test."""
    # A test that failed may have left it otherwise.
    street.line.open()
    street.line.cuts.clear()
    street.site.is_quick.set()
    street.model.steps.end()
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
    context.set_default_timeout(PATIENCE_MS)
    shopper = Shopper(context, street)
    context.on("request", lambda request: shopper.asked.append(request.url))
    context.on("console", lambda message: _heard(shopper, message.type, message.text))
    context.on("weberror", lambda error: shopper.problems.append(str(error.error)))
    context.on("dialog", lambda dialog: _heard(shopper, "error", f"dialog: {dialog.message}"))
    if customer_id is not None:
        shopper.signs_in(customer_id)
    try:
        yield shopper
    finally:
        context.close()
    assert not shopper.problems, shopper.problems


def conversation_of(street: Street, customer_id: str) -> Json:
    """Return a customer's newest conversation, asked for behind the widget's back."""
    answer = street.desk.get("/chat/conversations", street.desk.customer(customer_id))
    assert answer.status_code == httpx.codes.OK, answer.text
    return dict(answer.json()["items"][0])


def pending_of(street: Street, customer_id: str) -> Json:
    """Wait until a request of the customer's newest conversation waits, and return it."""
    conversation_id = conversation_of(street, customer_id)["conversation_id"]

    def look() -> Json | None:
        waiting = street.desk.waiting()
        return next((one for one in waiting if one["conversation_id"] == conversation_id), None)

    return eventually(look, f"request of {customer_id}")


def approve(street: Street, approval: Json) -> None:
    """Let Ana or, above her limit, two others say yes."""
    answer = street.desk.decides("approve", approval, street.desk.staff("ana"))
    assert answer.status_code == httpx.codes.OK, answer.text


def stored(tab: Tab) -> str:
    """Return everything that the page's origin keeps in the browser."""
    return json.dumps(
        tab.page.evaluate(
            "async () => [{...localStorage}, {...sessionStorage}, document.cookie, "
            "await caches.keys(), (await indexedDB.databases()).map((one) => one.name)]"
        )
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _heard(shopper: Shopper, kind: str, text: str) -> None:
    if kind in {"error", "warning"}:
        shopper.problems.append(text)
