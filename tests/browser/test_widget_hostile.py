"""Texts that mean harm, from everybody whose words reach a customer: they stay texts."""

import httpx
from playwright.sync_api import Browser, expect

from tests.browser.shopper import Street, Tab, conversation_of, pending_of, shopping

EVIL = (
    "<img src=https://evil.example/p.png onerror=ran()> <script>ran()</script> "
    "![](https://evil.example/i.png) ![x](data:image/svg+xml,<svg/onload=ran()>) "
    "[click](javascript:ran()) [data](data:text/html,<script>ran()</script>) "
    "[vb](vbscript:ran()) <iframe src=https://evil.example></iframe> "
    '"><style>@import url(https://evil.example/s.css)</style> <svg/onload=ran()> '
    "<support-desk base=https://evil.example></support-desk> javascript:ran()"
)
BIDI = "\u202egpj.exe\u202c \u2066hidden\u2069 a\u200bb \u061c\u200f"
LINK = "[our shop](https://evil.example/login) and **bold** `code`"
LONG = "x" * 200_000
CLIENT_ID = "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a09"
# What no text may become: anything that loads, runs, styles or frames.
FORBIDDEN = "img, script, style, iframe, object, embed, link, video, audio, base, meta"


def is_harmless(tab: Tab) -> None:
    """Check that nothing ran, and that nothing was made that could."""
    assert tab.page.evaluate("window.hasRun === undefined")
    assert tab.log.locator(FORBIDDEN).count() == 0
    for link in tab.log.locator("a").all():
        assert str(link.get_attribute("href")).startswith(("http://", "https://", "mailto:"))
        assert link.get_attribute("rel") == "noopener noreferrer nofollow ugc"
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    body = tab.log.evaluate("log => log.scrollWidth <= log.clientWidth + 1")
    assert body, "something makes the log wider than it is"


def test_no_text_of_anybody_runs_or_loads_anything(street: Street, chromium: Browser) -> None:
    desk = street.desk
    with shopping(street, chromium, "cus_david") as david:
        david.context.add_init_script("window.ran = () => { window.hasRun = true; };")
        # Nothing but the widget itself stands in the way on a page without a policy.
        tab = david.tab("?policy=none").opens()

        # The customer's own words, and the model's, which may repeat whatever it was told.
        tab.says(f"ECHO {EVIL}\n{BIDI}")
        answer = tab.turns("agent", "evil.example/p.png")
        expect(answer).to_have_count(1)
        bubble = tab.turns("customer", "evil.example/p.png").locator(".bubble")
        assert bubble.evaluate("node => node.textContent") == f"ECHO {EVIL}\n{BIDI}"
        assert bubble.evaluate("node => node.children.length") == 0
        told = str(answer.locator(".bubble").evaluate("node => node.textContent"))
        for piece in ("onerror=ran()", "javascript:ran()", "![](", "<iframe", "\u202egpj.exe"):
            assert piece in told
        is_harmless(tab)

        tab.says(f"ECHO {LINK}")
        expect(tab.turns("agent", "our shop")).to_contain_text("our shop (evil.example)")
        expect(tab.turns("agent", "our shop").locator("strong")).to_have_text("bold")

        # What staff and the reviewer write.
        tab.says("REFUND ORD-1018 79.00 USD")
        expect(tab.chips("pending", "ORD-1018")).to_be_visible()
        approval = pending_of(street, "cus_david")
        question = {"of": "customer", "question": f"{EVIL[:300]} {BIDI}"}
        asked = desk.post(f"/approvals/{approval['id']}/ask", question, desk.staff("ana"))
        assert asked.status_code == httpx.codes.OK, asked.text
        expect(tab.turns("staff", "onerror=ran()")).to_have_count(1)
        declined = desk.decides(
            "reject",
            approval,
            desk.staff("ana"),
            category="needs_information",
            reason=f"{EVIL[:350]} {BIDI}",
            note=EVIL[:350],
        )
        assert declined.status_code == httpx.codes.OK, declined.text
        expect(tab.chips("declined", "onerror=ran()")).to_have_count(1)
        is_harmless(tab)

        # All of it again, from the log.
        tab.page.reload()
        expect(tab.turns("agent", "evil.example/p.png")).to_have_count(1)
        expect(tab.chips("declined", "onerror=ran()")).to_have_count(1)
        is_harmless(tab)
        david.stays_at_home()


def test_no_text_is_too_long(street: Street, chromium: Browser) -> None:
    desk = street.desk
    with shopping(street, chromium, "cus_jonas") as jonas:
        tab = jonas.tab().opens()
        tab.composer.fill(f"ECHO {LONG}")
        expect(tab.widget.locator("#count")).to_contain_text("the rest was left out")
        tab.composer.press("Enter")
        expect(tab.turns("agent", "xxx")).to_have_count(1)
        is_harmless(tab)

        conversation_id = conversation_of(street, "cus_jonas")["conversation_id"]
        path, who = f"/chat/conversations/{conversation_id}", desk.customer("cus_jonas")
        message = {"client_id": CLIENT_ID, "text": LONG}
        refused = desk.post(f"{path}/messages", message, who)
        assert refused.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
        tab.asks("Still here?", "You said: Still here?")
