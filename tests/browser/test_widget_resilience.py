"""Lines that are cut, desks that die, answers that get lost, and many tabs: nothing is lost."""

import httpx
from playwright.sync_api import Browser, Request, Route, expect

from tests.browser.shopper import Shopper, Street, Tab, conversation_of, shopping
from tests.support.outside import Json
from tests.support.process import Chat

CHATS = "**/chat/conversations"
MESSAGES, EVENTS = "**/chat/conversations/*/messages", "**/chat/conversations/*/events*"


def stored_messages(street: Street, customer_id: str) -> list[Json]:
    """Return the messages of a customer's newest conversation as the desk has them, in order."""
    conversation_id = conversation_of(street, customer_id)["conversation_id"]
    path = f"/chat/conversations/{conversation_id}/events"
    events = street.desk.get(path, street.desk.customer(customer_id)).json()["events"]
    return [event["data"] for event in events if event["type"] == "message"]


def said(street: Street, customer_id: str, words: str) -> list[str]:
    """Return the customer's own messages with these words, as the desk has them."""
    found = stored_messages(street, customer_id)
    return [one["text"] for one in found if one["role"] == "customer" and words in one["text"]]


def shown(tab: Tab, words: str) -> list[str]:
    """Return the customer's own messages with these words, as the tab shows them, in order."""
    return tab.mine.filter(has_text=words).all_inner_texts()


def test_a_message_is_stored_once_whatever_happens_to_its_answer(
    street: Street, chromium: Browser
) -> None:
    with shopping(street, chromium, "cus_sofia") as sofia:
        tab = sofia.tab().opens()
        lost: list[int] = []

        def lose_answer(route: Route) -> None:
            lost.append(route.fetch().status)
            route.abort()

        tab.page.route(MESSAGES, lose_answer, times=3)
        # The log would tell that the message is there, and nobody would send it again.
        tab.page.route(EVENTS, lambda route: route.abort())
        tab.says("Lost three times")
        tab.until(lambda: len(lost) == 3, "three lost answers")
        assert lost == [httpx.codes.ACCEPTED] * 3
        tab.page.unroute(EVENTS)
        expect(tab.turns("agent", "You said: Lost three times")).to_have_count(1)
        expect(tab.mine).to_have_text(["Lost three times"])
        sofia.lost_the_line()

        tab.composer.fill("Clicked twice")
        tab.button("Send").dblclick()
        expect(tab.turns("agent", "You said: Clicked twice")).to_have_count(1)
        tab.composer.fill("Entered twice")
        tab.page.keyboard.press("Enter")
        tab.page.keyboard.press("Enter")
        expect(tab.turns("agent", "You said: Entered twice")).to_have_count(1)

        mine = ["Lost three times", "Clicked twice", "Entered twice"]
        assert shown(tab, "e") == mine
        assert [one["text"] for one in stored_messages(street, "cus_sofia")] == [
            text for words in mine for text in (words, f"You said: {words}")
        ]


def test_what_was_written_without_a_line_goes_out_in_order(
    street: Street, chromium: Browser
) -> None:
    with shopping(street, chromium, "cus_priya") as priya:
        tab = priya.tab().opens()
        tab.asks("Before the cut", "You said: Before the cut")
        street.line.shut()
        expect(tab.widget.get_by_text("Reconnecting …")).to_be_visible()
        written = [f"While away {number}" for number in range(1, 4)]
        for words in written:
            tab.says(words)
        expect(tab.mine.filter(has_text="While away")).to_have_text(written)
        # The shop's page is there, and the widget comes out of the browser's cache.
        tab.page.reload()
        expect(tab.mine.filter(has_text="While away")).to_have_text(written)
        assert said(street, "cus_priya", "While away") == []

        street.line.open()
        expect(tab.turns("agent", "You said: While away 3")).to_have_count(1)
        expect(tab.widget.get_by_text("Online")).to_be_visible()
        assert said(street, "cus_priya", "While away") == written
        assert shown(tab, "While away") == written
        priya.lost_the_line()


def test_a_cut_stream_loses_and_doubles_nothing(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_yuki") as yuki:
        tab = yuki.tab().opens()
        tab.asks("Hello", "You said: Hello")
        conversation_id = conversation_of(street, "cus_yuki")["conversation_id"]
        asked = f"GET /chat/conversations/{conversation_id}/events HTTP".encode()
        for cut_at in (0, 1, 120, 300, 700):
            street.line.cuts_answer(asked, cut_at)
        street.line.cut()
        written = [f"Through the cuts {number}: שלום 👋" for number in range(1, 5)]
        for words in written:
            tab.says(words)
            street.line.cut()
        expect(tab.turns("agent", "Through the cuts")).to_have_count(4)
        assert shown(tab, "Through the cuts") == written
        assert said(street, "cus_yuki", "Through") == written
        street.line.cuts.clear()
        yuki.lost_the_line()


def test_an_answer_outlives_the_desk_that_began_it(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_jonas") as jonas:
        tab = jonas.tab().opens()
        tab.says("SLOWLY alpha beta gamma delta")
        street.model.steps.release(2)
        expect(tab.widget.locator(".draft")).to_have_text("alpha beta")
        street.desk.kill()
        expect(tab.widget.get_by_text("Reconnecting …")).to_be_visible()
        tab.says("Are you back?")
        expect(tab.mine.last).to_have_text("Are you back?")

        street.desk.start()
        street.model.steps.release(10)
        expect(tab.turns("agent", "You said: Are you back?")).to_have_count(1, timeout=90_000)
        expect(tab.widget.get_by_text("Online")).to_be_visible()
        expect(tab.widget.locator(".draft")).to_be_hidden()
        texts = [one["text"] for one in stored_messages(street, "cus_jonas")]
        # What was asked while the desk was away came before or after the answer that was due.
        assert sorted(texts) == [
            "Are you back?",
            "SLOWLY alpha beta gamma delta",
            "You said: Are you back?",
            "alpha beta gamma delta",
        ]
        expect(tab.log.locator("[data-role] > .bubble")).to_have_text(texts)
        jonas.lost_the_line()


def test_tabs_are_one_conversation(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_david") as david:
        first = david.tab().opens()
        first.asks("From the first tab", "You said: From the first tab")
        second = david.tab()
        expect(second.launcher).to_be_visible()
        if not second.panel.is_visible():
            second.opens()
        expect(second.turns("agent", "You said: From the first tab")).to_have_count(1)
        second.says("From the second tab")
        for tab in (first, second):
            expect(tab.turns("customer", "From the second tab")).to_have_count(1)
            expect(tab.turns("agent", "You said: From the second tab")).to_have_count(1)
        first.says("SLOWLY both see this")
        street.model.steps.release(2)
        for tab in (first, second):
            expect(tab.widget.locator(".draft")).to_have_text("both see")
        street.model.steps.release(2)
        for tab in (first, second):
            expect(tab.turns("agent", "both see this")).to_have_count(1)
        # The tab that holds the stream goes; the other one goes on.
        second.page.close()
        first.page.bring_to_front()
        first.asks("Alone again", "You said: Alone again")
        assert said(street, "cus_david", "tab") == ["From the first tab", "From the second tab"]


def test_a_tab_that_takes_the_lead_leaves_none_behind(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_yuki") as yuki:
        first = yuki.tab().opens()
        first.asks("Good morning", "You said: Good morning")
        conversation_id = conversation_of(street, "cus_yuki")["conversation_id"]
        held: list[Route] = []
        first.page.route("**/events", lambda route: held.append(route))  # noqa: PLW0108
        street.line.cut()
        first.until(lambda: held != [], "that the stream is asked for again")
        Chat(street.desk, "cus_yuki", conversation_id).says("From my phone")
        expect(first.turns("agent", "You said: From my phone")).to_have_count(0)
        # It reads all there is, and then follows from there.
        second = yuki.tab().opens()
        for tab in (second, first):
            expect(tab.turns("agent", "You said: From my phone")).to_have_count(1)
        yuki.lost_the_line()


def begins(request: Request) -> bool:
    """Tell whether the desk is asked for a new conversation."""
    return request.method == "POST" and request.url.endswith("/chat/conversations")


def test_two_tabs_begin_one_conversation(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, None) as visitor:
        first = visitor.tab().opens()
        begun: list[Route] = []
        first.page.route(
            CHATS, lambda one: begun.append(one) if begins(one.request) else one.continue_()
        )
        first.says("Who is first?")
        first.until(lambda: begun != [], "that the first tab begins a conversation")
        # It comes into sight, takes the lead and has the same message to send.
        made: list[str] = []
        visitor.context.on("request", lambda one: made.append(one.url) if begins(one) else None)
        second = visitor.tab().opens()
        expect(second.mine).to_have_text(["Who is first?"])
        begun[0].continue_()
        for tab in (first, second):
            expect(tab.turns("agent", "You said: Who is first?")).to_have_count(1)
        assert len(begun) == 1
        assert made == []


def test_a_browser_without_locks_begins_a_conversation_too(
    street: Street, chromium: Browser
) -> None:
    """What a browser does for a page that may keep nothing."""
    with shopping(street, chromium, None) as visitor:
        visitor.context.add_init_script(
            "if (navigator.locks) navigator.locks.request = async () => {"
            " throw new DOMException('no storage', 'SecurityError'); }"
        )
        visitor.tab().opens().asks("Without locks", "You said: Without locks")


def test_eight_tabs_leave_room_for_the_shop(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_ben") as ben:
        tabs = [ben.tab().opens() for _ in range(8)]
        for tab in tabs:
            expect(tab.widget.get_by_text("Online")).to_be_visible()
        tabs[-1].asks("From the eighth tab", "You said: From the eighth tab")
        for tab in tabs:
            expect(tab.turns("agent", "You said: From the eighth tab")).to_have_count(1)
        assert said(street, "cus_ben", "eighth") == ["From the eighth tab"]


def test_what_is_written_at_once_arrives(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_clara") as clara:
        # The shop takes its time to say who this is; nobody waits for that to write.
        street.site.is_quick.clear()
        tab = clara.tab().opens()
        tab.says("In the first instant")
        expect(tab.mine.filter(has_text="first instant")).to_have_count(1)
        assert said_to_be_sent(clara) == []
        street.site.is_quick.set()
        expect(tab.turns("agent", "You said: In the first instant")).to_have_count(1)

        # A shop that sends people to its sign-in page answers with that page: no fault of the desk.
        page = "<html>Sign in</html>"
        clara.context.route("**/desk-token", lambda route: route.fulfill(body=page))
        expired = clara.tab().opens()
        expect(expired.widget.locator(".banner")).to_contain_text("Please sign in again.")
        clara.context.unroute("**/desk-token")
        # It asks again by itself, too.
        expect(expired.turns("customer", "In the first instant")).to_have_count(1)
        expired.page.close()
        assert said(street, "cus_clara", "instant") == ["In the first instant"]

        # A browser that keeps nothing for a page refuses it locks and storage, at once.
        clara.context.add_init_script(
            """const refused = () => { throw new DOMException("Denied", "SecurityError"); };
            if (navigator.locks) navigator.locks.request = async () => refused();
            for (const name of ["localStorage", "sessionStorage"]) {
              Object.defineProperty(window, name, { get: refused });
            }"""
        )
        kept = clara.tab().opens()
        expect(kept.turns("customer", "In the first instant")).to_have_count(1)
        kept.asks("Nothing is kept here", "You said: Nothing is kept here")


def said_to_be_sent(shopper: Shopper) -> list[str]:
    """Return the sends that have left a browser."""
    return [url for url in shopper.asked if url.endswith("/messages")]
