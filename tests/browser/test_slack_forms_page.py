"""The forms beside deciding, filled in on the page: menus, choices side by side, forms on forms."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Demo
from tests.support.outside import Json, eventually
from tests.support.process import DeskProcess, running_desk

EMPTY = "Please complete this required field."


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskProcess]:
    """Run a desk for these tests alone, whose breaker opens at the second refund."""
    with running_desk(tmp_path_factory.mktemp("forms"), BREAKER_MAX_REFUNDS="1") as desk:
        yield desk


def row(demo: Demo, words: str) -> Locator:
    """Return an input of the dialog by its label, with what stands around it."""
    return demo.dialog.locator(".block-input", has_text=words)


def red(demo: Demo) -> str:
    """Return how the page draws the colour of what is wrong."""
    script = """() => {
      const node = document.createElement("i");
      node.style.background = "var(--red-bg)";
      document.body.append(node);
      const { backgroundColor } = getComputedStyle(node);
      node.remove();
      return backgroundColor;
    }"""
    return str(demo.page.evaluate(script))


def unclear(desk: DeskProcess, order_id: str) -> Json:
    """Wait until the outcome of the order's refund is unknown, and return the approval."""

    def look() -> Json | None:
        found = desk.get("/approvals", desk.staff("mia"), status="unknown").json()["items"]
        return next((one for one in found if one["payload"]["order_id"] == order_id), None)

    return eventually(look, f"unknown refund on {order_id}")


def test_an_unknown_outcome_is_settled_in_a_form_of_choices(demo: Demo) -> None:
    demo.opens("Sofia Marino")
    demo.desk.payments_fail("timeout_before", 2)
    demo.says("My lamp arrived broken, I want my money back")
    card = demo.card("ORD-1017")
    card.get_by_role("button", name="Approve").click()
    demo.dialog.get_by_role("button", name="Approve").click()
    approval = unclear(demo.desk, "ORD-1017")
    expect(card.last).to_contain_text("outcome not known yet")

    # On-call is alerted after five minutes only; the button's value is known all the same.
    demo.becomes("Mia Lindqvist")
    target = {"v": 1, "id": approval["id"], "rev": 1, "h": approval["payload_hash"][:16]}
    posted = demo.desk.cards(approval["id"])[0]
    demo.desk.clicks("mia", posted, "approval_settle", value=json.dumps(target))

    submit = demo.dialog.get_by_role("button", name="Settle", exact=True)
    submit.click()
    expect(demo.dialog.get_by_text(EMPTY)).to_have_count(3)
    demo.dialog.get_by_label("No, it did not").check()
    demo.dialog.get_by_label("What shows it?").select_option(label="A record of the bank")
    demo.dialog.get_by_label("Reference").fill("statement 7")
    submit.click()

    expect(demo.dialog).to_contain_text("Too early")
    expect(demo.dialog).to_contain_text("it can be settled 23 hours after the first try")
    demo.dialog.get_by_role("button", name="Close").last.click()
    expect(demo.dialog).to_have_count(0)
    demo.desk.becomes(approval["id"], "executed")


def test_the_glass_is_broken_in_a_form_upon_a_form(demo: Demo) -> None:
    demo.opens("Priya Raman", person="Olu Bankole")
    demo.says("My sofa arrived broken, I want my money back")
    card = demo.card("ORD-1004")
    card.get_by_role("button", name="Details").click()
    expect(demo.dialog).to_contain_text("Exactly this will run")
    demo.dialog.get_by_role("button", name="Break glass").click()

    expect(demo.dialog).to_have_count(1)
    expect(demo.dialog).to_contain_text("The policy asks for 2 people")
    reason = demo.dialog.get_by_label("Why nobody else can decide")
    expect(reason).to_be_focused()
    submit = demo.dialog.get_by_role("button", name="Approve alone")
    reason.fill("now")
    submit.click()
    expect(row(demo, "Why nobody else can decide").get_by_role("alert")).to_be_visible()
    reason.fill("Bank holiday, nobody else is here")
    submit.click()

    # On this tier the role is read from Slack after the click.
    expect(demo.dialog).to_contain_text("Being checked")
    demo.dialog.get_by_role("button", name="Close").last.click()
    expect(demo.dialog).to_have_count(0)
    expect(card).to_contain_text("broke the glass: Bank holiday, nobody else is here")


def test_order_and_amount_are_edited_in_one_form(demo: Demo) -> None:
    demo.opens("David Okafor")
    demo.says("Refund $60 on ORD-1015")
    card = demo.card("ORD-1015")
    card.get_by_role("button", name="Edit").click()
    order = demo.dialog.get_by_label("Order", exact=True)
    expect(order).to_have_value("ORD-1015")
    order.fill("ORD-9999")
    demo.dialog.get_by_role("button", name="Save").click()
    expect(row(demo, "Another order of the same customer").get_by_role("alert")).to_contain_text(
        "there is no such order"
    )
    order.fill("ORD-1018")
    demo.dialog.get_by_label("Amount in USD").fill("59.00")
    demo.dialog.get_by_role("button", name="Save").click()

    expect(demo.dialog).to_have_count(0)
    edited = demo.card("59.00 USD").last
    expect(edited).to_contain_text("Order: ORD-1015 → ORD-1018")
    expect(edited.get_by_role("button", name="Approve")).to_be_visible()


def test_a_long_text_is_read_from_its_beginning(demo: Demo) -> None:
    demo.opens("Clara Nguyen")
    demo.says("Write me an e-mail that says sorry for ORD-1001")
    demo.card("E-mail").last.get_by_role("button", name="Edit").click()
    text = demo.dialog.get_by_label("Text", exact=True)
    expect(text).to_be_focused()
    seen = text.evaluate(
        "node => [node.selectionStart, node.selectionEnd, node.scrollTop,"
        " node.clientHeight / parseFloat(getComputedStyle(node).lineHeight)]"
    )
    assert seen[:3] == [0, 0, 0]
    assert seen[3] >= 8
    demo.page.keyboard.type("Dear Clara. ")
    assert text.input_value().startswith("Dear Clara. ")
    demo.page.keyboard.press("Escape")
    expect(demo.dialog).to_have_count(0)


def test_everything_is_stopped_and_lifted(demo: Demo) -> None:
    demo.opens("David Okafor", person="Olu Bankole")
    for order_id in ("ORD-1015", "ORD-1018"):
        demo.says(f"Refund $5 on {order_id}")
    demo.page.get_by_role("button", name="oncall").click()
    demo.card("Refund breaker opened").last.get_by_role("button", name="Stop all").click()
    demo.dialog.get_by_label("Why", exact=True).fill("Double payments")
    demo.dialog.get_by_role("button", name="Stop all").click()
    expect(demo.dialog).to_have_count(0)
    alert = demo.card("Everything is stopped").last
    expect(alert).to_contain_text("Olu Bankole stopped everything")
    light = demo.page.locator("#breaker")
    expect(light).to_have_text("Everything is stoppedby Olu Bankole: Double payments")
    expect(light).to_have_attribute("data-state", "stopped")
    expect(light).to_have_css("background-color", red(demo))
    assert demo.desk.breaker()["stopped"] is True

    demo.becomes("Mia Lindqvist")
    demo.page.get_by_role("button", name="Home").click()
    home = demo.page.locator(".home")
    expect(home).to_contain_text("Everything is stopped, by Olu Bankole")
    home.get_by_role("button", name="Lift the stop").click()
    expect(demo.dialog).to_contain_text("Double payments")
    demo.dialog.get_by_label("Why it is safe again").fill("The provider has mended it")
    demo.dialog.get_by_role("button", name="Lift", exact=True).click()
    expect(demo.dialog).to_have_count(0)
    assert demo.desk.breaker()["stopped"] is False
    # The second refund had opened the breaker before all of it was stopped.
    expect(light).to_contain_text("Breaker")
    expect(light).not_to_contain_text("stopped")
