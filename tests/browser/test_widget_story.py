"""What a shop's customers live through with the chat, over days and across closed tabs."""

import httpx
from playwright.sync_api import Browser, Route, expect

from tests.browser.shopper import (
    Shopper,
    Street,
    Tab,
    approve,
    conversation_of,
    pending_of,
    shopping,
    stored,
)
from tests.support.outside import eventually

MARKUP = "<b onclick=ran()>bold</b> <img src=https://evil.example/p.png>"
SECRET_WORDS = "my neighbour must never read this"


def test_a_decision_reaches_a_customer_who_has_closed_the_tab(
    street: Street, chromium: Browser
) -> None:
    with shopping(street, chromium, "cus_clara") as clara:
        tab = clara.tab().opens()
        tab.says("REFUND ORD-1001 160.00 USD")
        expect(tab.chips("pending", "160.00 USD")).to_be_visible()
        expect(tab.chips("pending")).to_contain_text("Waiting for review")
        tab.page.close()
        approval = pending_of(street, "cus_clara")
        approve(street, approval)
        street.desk.becomes(approval["id"], "executed")
        eventually(
            lambda: conversation_of(street, "cus_clara")["last_seq"] >= 5, "outcome in the chat"
        )

        later = clara.tab()
        expect(later.launcher).to_contain_text("Unread messages")
        unread = later.page.evaluate("document.querySelector('support-desk').unread")
        assert unread >= 1
        later.opens()
        expect(later.chips("done", "160.00 USD")).to_be_visible()
        expect(later.log.locator("[data-approval]")).to_have_count(1)
        expect(later.launcher).not_to_contain_text("Unread messages")
        eventually(
            lambda: (
                conversation_of(street, "cus_clara")["read_seq"]
                == conversation_of(street, "cus_clara")["last_seq"]
            ),
            "everything read",
        )
        clara.stays_at_home()
    assert [one["amount"]["minor"] for one in street.desk.payments("ORD-1001")] == [16000]


def test_stop_ends_the_answer_and_nothing_else(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_david") as david:
        tab = david.tab().opens()
        tab.says("REFUND ORD-1005 100.00 USD")
        expect(tab.chips("pending", "100.00 USD")).to_be_visible()
        expect(tab.turns("agent", "quick review")).to_be_visible()
        expect(tab.button("Stop")).to_be_hidden()

        tab.says("SLOWLY one two three four five six")
        expect(tab.button("Stop")).to_be_visible()
        street.model.steps.release(3)
        expect(tab.widget.locator(".draft")).to_have_text("one two three")
        # Nobody is read a word at a time.
        expect(tab.widget.locator(".draft")).to_have_attribute("aria-live", "off")
        expect(tab.turns("agent", "one two")).to_have_count(0)
        tab.button("Stop").click()

        expect(tab.turns("agent", "one two three")).to_have_count(1)
        expect(tab.log).to_contain_text("Stopped. Your refund request is still with our team.")
        expect(tab.button("Stop")).to_be_hidden()
        expect(tab.widget.locator(".draft")).to_be_hidden()
        street.model.steps.release(3)
        expect(tab.chips("pending", "100.00 USD")).to_be_visible()
        tab.asks("Are you still there?", "You said: Are you still there?")

        approve(street, pending_of(street, "cus_david"))
        expect(tab.chips("done", "100.00 USD")).to_be_visible()
        expect(tab.log.locator("[data-approval]")).to_have_count(1)
        expect(tab.turns("agent", "four")).to_have_count(0)


def test_nothing_of_a_customer_is_left_for_the_next(street: Street, chromium: Browser) -> None:
    desk = street.desk
    with shopping(street, chromium, "cus_ben") as browser:
        tab = browser.tab().opens()
        tab.asks(f"It is Ben: {SECRET_WORDS}", SECRET_WORDS)
        tab.says("REFUND ORD-1008 129.00 USD")
        expect(tab.chips("pending", "129.00 USD")).to_be_visible()
        expect(tab.turns("agent")).to_have_count(2)
        tab.composer.fill("something half written")
        tab.until(lambda: _has_read_all(street, "cus_ben"), "that Ben has read all")
        approval_id = pending_of(street, "cus_ben")["id"]
        conversation_id = conversation_of(street, "cus_ben")["conversation_id"]
        known = (SECRET_WORDS, "cus_ben", conversation_id, approval_id, "ORD-1008", "half written")
        assert conversation_id in " ".join(browser.asked)

        browser.signs_in("cus_clara")
        browser.asked.clear()
        answers: list[str] = []
        tab.page.on("response", lambda response: answers.append(response.url))
        resets_at_once(browser, tab)
        tab.asks("Now it is Clara", "You said: Now it is Clara")
        shown, kept = tab.text(), stored(tab)
        value = tab.composer.input_value()
        for word in known:
            assert word not in shown
            assert word not in kept
            assert word not in " ".join([*browser.asked, *answers, value])

        # The other way round, without reset(): the next load of a page finds out by itself.
        browser.signs_in("cus_ben")
        browser.asked.clear()
        tab.page.reload()
        expect(tab.turns("customer", SECRET_WORDS)).to_have_count(1)
        expect(tab.log.get_by_text("Now it is Clara")).to_have_count(0)
        assert "cus_clara" not in tab.text() + stored(tab)

        queues_for_nobody_else(browser, tab)

    clara, chat = desk.customer("cus_clara"), f"/chat/conversations/{conversation_id}"
    client_id = "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a01"
    answers_to_clara = [
        desk.get(f"{chat}/events", clara),
        desk.get(f"{chat}/events", {**clara, "accept": "text/event-stream"}),
        desk.post(f"{chat}/messages", {"client_id": client_id, "text": "me"}, clara),
        desk.post(f"{chat}/stop", {}, clara),
        desk.post(f"{chat}/read", {"seq": 1}, clara),
        desk.post(f"{chat}/rating", {"score": 1}, clara),
        desk.post(f"{chat}/approvals/{approval_id}/withdraw", {}, clara),
        desk.post(f"{chat}/attach", {"anonymous_token": "none"}, clara),
    ]
    assert {one.status_code for one in answers_to_clara} == {httpx.codes.NOT_FOUND}
    assert not any(SECRET_WORDS in one.text for one in answers_to_clara)


def queues_for_nobody_else(browser: Shopper, tab: Tab) -> None:
    """A tab that has not noticed yet still writes as Ben: Clara's tabs do not take that over."""
    tab.page.route("**/messages", lambda route: route.abort())
    browser.signs_in("cus_clara")
    other = browser.tab().opens()
    expect(other.turns("agent", "Now it is Clara")).to_have_count(1)
    tab.says("Still only of Ben")
    expect(tab.mine.filter(has_text="Still only of Ben")).to_have_count(1)
    other.page.reload()
    expect(other.turns("agent", "Now it is Clara")).to_have_count(1)
    assert "Still only of Ben" not in other.text()
    browser.lost_the_line()


def test_a_visitor_asks_and_signs_in_later(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium) as visitor:
        tab = visitor.tab().opens()
        tab.asks("Do you ship to Malta?", "You said: Do you ship to Malta?")
        tab.says("REFUND ORD-1017 58.00 USD")
        # The tool is refused; what the model makes of it is its own.
        expect(tab.turns("agent")).to_have_count(2)
        assert street.desk.waiting() == [
            one for one in street.desk.waiting() if one["payload"].get("order_id") != "ORD-1017"
        ]

        visitor.signs_in("cus_sofia")
        tab.page.reload()
        expect(tab.turns("customer", "Do you ship to Malta?")).to_have_count(1)
        eventually(lambda: conversation_of(street, "cus_sofia"), "conversation of Sofia's")
        assert "visitor" not in stored(tab)
        tab.says("REFUND ORD-1017 58.00 USD")
        expect(tab.chips("pending", "58.00 USD")).to_be_visible()
        tab.chips("pending").get_by_role("button", name="Withdraw request").click()
        expect(tab.chips("withdrawn", "58.00 USD")).to_be_visible()
        visitor.stays_at_home()


def _has_read_all(street: Street, customer_id: str) -> bool:
    one = conversation_of(street, customer_id)
    return bool(one["read_seq"] == one["last_seq"])


def test_a_person_of_the_team_takes_over_in_the_chat(street: Street, chromium: Browser) -> None:
    with shopping(street, chromium, "cus_priya") as priya:
        tab = priya.tab().opens()
        tab.says("PERSON she asks for one")
        expect(tab.log).to_contain_text("A person from our team has been asked to join.")
        chat = conversation_of(street, "cus_priya")["conversation_id"]

        replies(street, chat, f"Hello Priya, {MARKUP}")
        staff = tab.turns("staff", "Hello Priya")
        expect(staff).to_contain_text("Sam Whitfield")
        expect(staff).to_contain_text(MARKUP)
        expect(staff.locator("img, b")).to_have_count(0)
        expect(tab.widget.locator(".connection")).to_contain_text("Sam Whitfield")

        # From now on the agent says nothing.
        asked, told = street.model.asked, tab.turns("agent").count()
        tab.says("ECHO the agent must not say this")
        replies(street, chat, "It is on its way.")
        expect(tab.turns("staff", "It is on its way.")).to_have_count(1)
        expect(tab.turns("agent")).to_have_count(told)
        expect(tab.button("Stop")).to_be_hidden()
        assert street.model.asked == asked
        tab.page.reload()
        expect(tab.turns("staff")).to_have_count(2)
        expect(tab.widget.locator(".connection")).to_contain_text("Sam Whitfield")
        priya.stays_at_home()


def replies(street: Street, conversation_id: str, words: str) -> None:
    """Let Sam of the team answer from Slack."""
    text = f"reply {conversation_id[-6:]} {words}"
    command = {"user": "sam", "command": "/refunds", "text": text}
    answer = street.desk.post("/sandbox/slack/command", command)
    assert answer.status_code == httpx.codes.OK, answer.text


def resets_at_once(browser: Shopper, tab: Tab) -> None:
    """See that nothing of Ben is left before the desk has answered anything to Clara."""
    held: list[Route] = []
    chats = "**/chat/conversations"
    browser.context.route(chats, lambda route: held.append(route))  # noqa: PLW0108
    tab.page.evaluate("document.querySelector('support-desk').reset()")
    tab.until(lambda: held != [], "that Clara's chats are asked for")
    expect(tab.turns("customer", SECRET_WORDS)).to_have_count(0, timeout=500)
    for route in held:
        route.continue_()
    browser.context.unroute(chats)
