"""The demo page in a real browser, over a desk that is a real process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    expect,
)

from tests.browser.shopper import Street, running_street
from tests.support import unavailable
from tests.support.chromium import has_chromium, running_chromium
from tests.support.process import DeskProcess, running_desk

_PATIENCE_MS = 20_000

expect.set_options(timeout=_PATIENCE_MS)


@dataclass
class Demo:
    """The page, by the names that people see, and what the browser complained about."""

    desk: DeskProcess
    page: Page
    problems: list[str] = field(default_factory=list)

    def opens(self, customer: str = "Clara Nguyen", person: str = "Ana Ribeiro") -> None:
        """Load the page, sign a customer in and look at Slack as one of the team."""
        self.page.goto(self.desk.url)
        self.page.get_by_label("Signed in as").select_option(customer)
        self.becomes(person)

    def says(self, words: str) -> None:
        """Type into the chat and press Enter."""
        composer = self.page.get_by_label("Your message")
        composer.fill(words)
        composer.press("Enter")

    def becomes(self, person: str) -> None:
        """Look at Slack as somebody else."""
        self.page.get_by_role("radio", name=person).check()

    @property
    def log(self) -> Locator:
        """What is in the chat."""
        return self.page.get_by_role("log", name="Conversation")

    @property
    def chat(self) -> Locator:
        """The whole chat, with what is on its way."""
        return self.page.locator("support-desk")

    @property
    def connection(self) -> Locator:
        """How the chat's line to the desk is."""
        return self.chat.locator(".connection")

    def chip(self, status: str, words: str) -> Locator:
        """Return the chips of a status that have these words."""
        return self.log.locator(f"[data-status={status}]", has_text=words)

    def order(self, order_id: str) -> Locator:
        """Return an order of the shop page."""
        return self.page.locator(f"[data-order={order_id}]")

    def card(self, words: str) -> Locator:
        """Return the thread in Slack whose card has these words."""
        return self.page.locator("article.thread:not(.broadcast)", has_text=words)

    @property
    def dialog(self) -> Locator:
        """The modal or question that is open."""
        return self.page.get_by_role("dialog")


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskProcess]:
    """Run one desk for all tests: each uses orders of its own."""
    with running_desk(tmp_path_factory.mktemp("desk")) as desk:
        yield desk


@pytest.fixture(scope="package")
def hasty_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskProcess]:
    """Run a desk that waits for people one second and lets one refund through a minute."""
    env = {"REFUND_DECIDE_WITHIN_S": "1", "BREAKER_MAX_REFUNDS": "1", "SWEEP_INTERVAL_S": "1"}
    with running_desk(tmp_path_factory.mktemp("hasty"), **env) as desk:
        yield desk


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    """Run a shop with the two lines, one for all tests of a module.

    Each of them is about a customer of its own.
    """
    with running_street(tmp_path_factory.mktemp("street")) as street:
        yield street
        assert "Traceback" not in street.desk.log


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start the machine's Chromium.

    Not for the whole session: until it stops, Playwright keeps an event loop running in this
    thread, in which other tests' `asyncio.run` is refused.
    """
    if not has_chromium():
        unavailable("Chromium")
    with running_chromium(tmp_path_factory.mktemp("home")) as browser:
        yield browser


@pytest.fixture
def demo(desk: DeskProcess, chromium: Browser) -> Iterator[Demo]:
    """Return the page in a wide window; whatever the browser complains about fails the test."""
    with _shown(desk, chromium, 1440) as demo:
        yield demo


@pytest.fixture
def narrow_demo(desk: DeskProcess, chromium: Browser) -> Iterator[Demo]:
    """Return the page on a phone."""
    with _shown(desk, chromium, 360) as demo:
        yield demo


@pytest.fixture
def hasty_demo(hasty_desk: DeskProcess, chromium: Browser) -> Iterator[Demo]:
    """Return the page of the desk that has no time."""
    with _shown(hasty_desk, chromium, 1440) as demo:
        yield demo


@contextmanager
def _shown(desk: DeskProcess, browser: Browser, width: int) -> Iterator[Demo]:
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    demo = Demo(desk, page)
    # Refused by the content security policy, logged as an error, or thrown: all end up here.
    page.on("console", lambda message: demo.problems.extend(_complaints(message)))
    page.on("pageerror", lambda error: demo.problems.append(_told(error)))
    try:
        yield demo
    finally:
        context.close()
    assert demo.problems == []


def _complaints(message: ConsoleMessage) -> list[str]:
    return [message.text] if message.type in {"error", "warning"} else []


def _told(error: Error) -> str:
    return error.stack or error.message
