"""The demo shop with the two lines, and the page that tells integrators the rest."""

import re
from html.parser import HTMLParser

from playwright.sync_api import expect
from typing_extensions import override

from tests.browser.conftest import Demo
from tests.browser.test_widget_access import has_no_violation


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_shop_needs_two_lines(demo: Demo) -> None:
    page, url = demo.page, demo.desk.url
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{url}/shop")
    page.get_by_role("button", name="Copy the two lines").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    lines = copied.splitlines()
    assert len(lines) == 2
    assert lines[0] == f'<script type="module" src="{url}/widget/v1/desk.js"></script>'
    # They are in the page itself, and nothing else of the chat.
    source = demo.desk.get("/shop/").text
    own = [*Elements(source).found]
    assert ("script", {"type": "module", "src": "/widget/v1/desk.js"}) in own
    assert [attributes for tag, attributes in own if tag == "support-desk"] == [
        attributes for _, attributes in Elements(lines[1]).found
    ]
    assert "support-desk" not in demo.desk.get("/shop/shop.js").text.replace(
        'find("support-desk")', ""
    )

    page.get_by_role("button", name="Support chat").click()
    demo.says("Where is my order?")
    expect(demo.log.locator("[data-role=agent]")).to_have_count(1)
    page.get_by_label("Customer").select_option("Jonas Keller")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Welcome back, Jonas Keller.")).to_be_visible()
    # Whoever signs in keeps what was said; whoever signs out takes it along.
    expect(demo.log.locator("[data-role=customer]")).to_have_text(re.compile("Where is my order"))
    demo.says("And now, where is my order?")
    expect(demo.log.locator("[data-role=agent]").last).to_contain_text("ORD-1009")
    page.get_by_role("button", name="Sign out").click()
    expect(demo.log.locator("[data-role]")).to_have_count(0)
    expect(page.get_by_text("You are a visitor here.")).to_be_visible()
    has_no_violation(page, "in the shop")


def test_what_is_pinned_is_loaded_and_checked(demo: Demo) -> None:
    page, url = demo.page, demo.desk.url
    page.goto(f"{url}/widget/")
    expect(page.get_by_role("heading", name="Put the chat into your shop")).to_be_visible()
    family = page.locator("main").evaluate("node => getComputedStyle(node).maxWidth")
    assert family != "none", "the policy lets the page's own styles through"
    for link in page.get_by_role("navigation").get_by_role("link").all():
        assert page.locator(str(link.get_attribute("href"))).count() == 1
    pinned = page.locator("#pinned").inner_text().replace("https://desk.example.com", url)
    # Put into a page of the sandbox, whose shop signs tokens.
    pinned = pinned.replace("/desk-token", "/sandbox/shop/desk-token")

    def with_pinned(wrong: str = "") -> str:
        lines = pinned.replace("sha384-", f"sha384-{wrong}")
        return f"<!doctype html><html lang=en><title>A shop</title>{lines}"

    page.route(f"{url}/pinned", lambda route: route.fulfill(body=with_pinned(), content_type=HTML))
    page.route(
        f"{url}/wrong", lambda route: route.fulfill(body=with_pinned("AAAA"), content_type=HTML)
    )
    page.goto(f"{url}/pinned")
    page.get_by_role("button", name="Support chat").click()
    expect(page.get_by_label("Your message")).to_be_visible()
    assert demo.problems == []
    page.goto(f"{url}/wrong")
    expect(page.locator("support-desk")).to_have_js_property("shadowRoot", None)
    assert any("integrity" in problem for problem in demo.problems)
    demo.problems.clear()


HTML = "text/html; charset=utf-8"
