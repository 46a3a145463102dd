"""Everybody can use the chat: by keyboard alone, by ear, in any colours, from right to left."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.shopper import Street, Tab, shopping

RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}


def stands_still(page: Page) -> None:
    """Wait until what comes in has come."""
    page.evaluate(
        """async () => {
          const root = document.querySelector('support-desk').shadowRoot;
          await Promise.all(root.getAnimations().filter((one) =>
            one.effect.getComputedTiming().iterations !== Infinity).map((one) => one.finished));
        }"""
    )


def has_no_violation(page: Page, where: str) -> None:
    """Let axe look at the element and everything in it."""
    stands_still(page)
    found = Axe().run(page, context="support-desk", options=RULES)
    told = [
        (one["id"], [node["html"] for node in one["nodes"]]) for one in found.response["violations"]
    ]
    assert told == [], where


@pytest.mark.parametrize(
    ("scheme", "query", "customer_id", "order"),
    [
        ("light", "", "cus_clara", "ORD-1013 62.00 USD"),
        ("dark", "?lang=ar", "cus_sofia", "ORD-1017 58.00 USD"),
    ],
)
def test_axe_finds_nothing_to_mend(
    street: Street, chromium: Browser, scheme: Any, query: str, customer_id: str, order: str
) -> None:
    with shopping(street, chromium, customer_id, color_scheme=scheme) as shopper:
        tab = shopper.tab(query)
        expect(tab.launcher).to_be_visible()
        has_no_violation(tab.page, "closed")
        tab.opens()
        has_no_violation(tab.page, "open")
        tab.says("ECHO **bold** [a link](https://shop.example/a)\n- one\n- two\n`code`")
        expect(tab.turns("agent", "bold")).to_have_count(1)
        tab.says(f"REFUND {order}")
        expect(tab.chips("pending")).to_be_visible()
        expect(tab.turns("agent", "quick review")).to_be_visible()
        tab.says("SLOWLY one two")
        street.model.steps.release()
        expect(tab.widget.locator(".draft")).to_have_text("one")
        has_no_violation(tab.page, "with a request, and an answer under way")
        street.model.steps.release()
        expect(tab.turns("agent", "one two")).to_have_count(1)
        tab.chips("pending").get_by_role("button").click()
        expect(tab.chips("withdrawn")).to_be_visible()
        tab.widget.locator(".end").click()
        expect(tab.widget.get_by_role("radio").first).to_be_focused()
        has_no_violation(tab.page, "rating")
        if query:
            mirrored(tab)


def mirrored(tab: Tab) -> None:
    """Check that the Arabic panel is the English one in a mirror."""
    page = tab.page
    launcher, panel = tab.launcher.bounding_box(), tab.panel.bounding_box()
    assert launcher is not None
    assert panel is not None
    assert launcher["x"] + launcher["width"] < 600
    assert panel["x"] < 100
    assert tab.widget.locator(".desk").get_attribute("dir") == "rtl"
    mine = tab.mine.first.bounding_box()
    theirs = tab.log.locator(".turn.agent .bubble").first.bounding_box()
    assert mine is not None
    assert theirs is not None
    assert mine["x"] < theirs["x"]
    words = tab.text()
    for english in ("Online", "Waiting for review", "Write a message", "End chat"):
        assert english not in words
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_keyboard_alone_does_everything(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_priya", reduced_motion="reduce") as priya:
        tab = priya.tab()
        opens_by_keyboard(tab)
        stops_by_keyboard(tab)
        withdraws_by_keyboard(tab)
        rates_and_leaves_by_keyboard(tab)
        # The link that mails have: it opens the panel on any page.
        tabs_to(tab, lambda: tab.page.evaluate("document.activeElement.localName") == "a")
        tab.page.keyboard.press("Enter")
        expect(tab.panel).to_be_visible()


def opens_by_keyboard(tab: Tab) -> None:
    keyboard = tab.page.keyboard
    expect(tab.launcher).to_have_attribute("aria-expanded", "false")
    tabs_to(tab, lambda: is_focused(tab, "[aria-expanded]"))
    keyboard.press("Enter")
    expect(tab.composer).to_be_focused()
    expect(tab.launcher).to_have_attribute("aria-expanded", "true")
    keyboard.press("Escape")
    expect(tab.panel).to_be_hidden()
    expect(tab.launcher).to_be_focused()
    keyboard.press("Space")
    expect(tab.composer).to_be_focused()


def stops_by_keyboard(tab: Tab) -> None:
    keyboard = tab.page.keyboard
    keyboard.type("REFUND ORD-1006 60.00 USD")
    keyboard.press("Enter")
    expect(tab.chips("pending", "60.00 USD")).to_be_visible()
    expect(tab.turns("agent", "quick review")).to_be_visible()
    expect(tab.composer).to_be_focused()
    keyboard.type("SLOWLY one two three")
    keyboard.press("Enter")
    tab.street.model.steps.release(2)
    expect(tab.widget.locator(".draft")).to_have_text("one two")
    # Whoever wants no motion sees none; everybody else sees the dots move.
    dot = tab.widget.locator(".typing i").first
    expect(dot).to_have_css("animation-name", "none")
    expect(tab.panel).to_have_css("animation-name", "none")
    tab.page.emulate_media(reduced_motion="no-preference")
    expect(dot).to_have_css("animation-name", "dot")
    tab.page.emulate_media(reduced_motion="reduce")
    tabs_to(tab, lambda: is_focused(tab, ".stop"))
    keyboard.press("Enter")
    expect(tab.log).to_contain_text("Stopped. Your refund request is still with our team.")
    # The button that had the focus is gone, and the place is not.
    expect(tab.composer).to_be_focused()


def withdraws_by_keyboard(tab: Tab) -> None:
    tabs_to(tab, lambda: is_focused(tab, ".chip button"), back=True)
    tab.page.keyboard.press("Enter")
    expect(tab.chips("withdrawn", "60.00 USD")).to_be_visible()
    # What had the focus is gone; the place is not lost with it.
    assert tab.page.evaluate("document.activeElement.localName") == "support-desk"


def rates_and_leaves_by_keyboard(tab: Tab) -> None:
    keyboard = tab.page.keyboard
    tabs_to(tab, lambda: is_focused(tab, ".end"), back=True)
    keyboard.press("Enter")
    expect(tab.widget.get_by_role("radio").first).to_be_focused()
    keyboard.press("Escape")
    expect(tab.launcher).to_be_focused()
    keyboard.press("Enter")
    expect(tab.panel).to_be_focused()
    tabs_to(tab, lambda: is_focused(tab, "input"))
    for _ in range(4):
        keyboard.press("ArrowRight")
    tabs_to(tab, lambda: is_focused(tab, ".main"))
    keyboard.press("Enter")
    expect(tab.log).to_contain_text("You rated this chat 5 of 5. Thank you!")
    expect(tab.composer).to_be_focused()
    tabs_to(tab, lambda: is_focused(tab, ".close"))
    keyboard.press("Enter")
    expect(tab.panel).to_be_hidden()
    expect(tab.launcher).to_be_focused()


def is_focused(tab: Tab, selector: str) -> bool:
    """Tell whether the focus is on something inside the element."""
    return bool(
        tab.page.evaluate(
            "selector => document.querySelector('support-desk').shadowRoot"
            ".activeElement?.matches(selector) ?? false",
            selector,
        )
    )


def tabs_to(tab: Tab, is_there: Callable[[], bool], *, back: bool = False) -> None:
    """Press Tab until the focus is there."""
    for _ in range(20):
        if is_there():
            return
        tab.page.keyboard.press("Shift+Tab" if back else "Tab")
    pytest.fail("the keyboard does not get there")


def test_a_phone_shows_a_sheet_that_is_as_large_as_the_window(
    street: Street, chromium: Browser
) -> None:
    small = {"width": 360, "height": 640}
    with shopping(
        street, chromium, "cus_ben", viewport=small, is_mobile=True, has_touch=True
    ) as ben:
        tab = ben.tab()
        tab.launcher.tap()
        expect(tab.panel).to_be_visible()
        stands_still(tab.page)
        assert tab.panel.bounding_box() == {"x": 0, "y": 0, **small}
        expect(tab.panel).to_have_attribute("aria-modal", "true")
        # Smaller letters make a phone zoom in; a focus would cover what one came to read.
        size = tab.composer.evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
        assert size >= 16
        expect(tab.composer).not_to_be_focused()
        tab.says("A long word: " + "w" * 300)
        expect(tab.turns("agent", "You said: A long word")).to_have_count(1)
        assert tab.page.evaluate("document.documentElement.scrollWidth") == 360
        for _ in range(12):
            tab.page.keyboard.press("Tab")
            assert tab.page.evaluate("document.activeElement.localName") == "support-desk"
        has_no_violation(tab.page, "sheet")
        small_targets = tab.page.evaluate(
            """() => [...document.querySelector('support-desk').shadowRoot
              .querySelectorAll('button')].filter((one) => {
                const { width, height } = one.getBoundingClientRect();
                return width > 0 && (width < 44 || height < 44);
              }).map((one) => one.className)"""
        )
        assert small_targets == []
        tab.button("Close chat").tap()
        expect(tab.panel).to_be_hidden()
