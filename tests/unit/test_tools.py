"""What the model may ask for: arguments read strictly, and what each tool declares of itself."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.errors import InvalidInput
from agent.domain.ids import CustomerId
from agent.domain.money import Money
from agent.domain.payload import MAX_PAYLOAD_BYTES, canonical
from agent.domain.risk import RefundProposal
from agent.ports import ShopOrder
from agent.tools.base import Tool, ToolClass, failure, parse_arguments
from agent.tools.orders import LIST_ORDERS, LOOKUP_ORDER, LookupOrder, order_status
from agent.tools.refunds import (
    ISSUE_REFUND,
    IssueRefund,
    read_refund_payload,
    refund_payload,
    to_proposal,
)
from agent.tools.registry import (
    EFFECTS,
    HAND_OFF,
    INSTRUCTIONS,
    SPECS,
    TOOLS,
    TOOLS_VERSION,
    HandOff,
)
from agent.tools.rules import CHECK_POLICY
from agent.tools.status import REFUND_STATUS
from tests.support.builders import usd
from tests.support.doubles import START

FILLED: dict[str, Any] = {
    "order_id": "ORD-1001",
    "amount": "20.00",
    "currency": "USD",
    "scope": "partial",
    "reason": "it wobbles",
    "confidence": "0.95",
}


def raw(**changes: object) -> str:
    """Return the arguments of a refund as the model writes them; a change to ... drops a field."""
    meant = FILLED | changes
    return json.dumps({name: value for name, value in meant.items() if value is not ...})


def refund(**changes: object) -> IssueRefund:
    found = parse_arguments(ISSUE_REFUND, raw(**changes))
    assert isinstance(found, IssueRefund)
    return found


@pytest.mark.parametrize(
    ("text", "amount", "confidence"),
    [
        pytest.param(raw(), "20.00", "0.95", id="texts"),
        pytest.param(raw(amount=20, confidence=1), "20", "1", id="whole numbers"),
        pytest.param(raw(amount=20.5, confidence=0.9), "20.5", "0.9", id="numbers as written"),
        pytest.param(
            raw().replace('"20.00"', "20.10").replace('"0.95"', "0.90"),
            "20.10",
            "0.90",
            id="digits",
        ),
        pytest.param(
            raw().replace('"20.00"', "8.200000000000000000001"),
            "8.200000000000000000001",
            "0.95",
            id="digits no float holds",
        ),
        pytest.param(raw(amount=-5), "-5", "0.95", id="a negative amount is the gate's business"),
        pytest.param(raw(confidence=None), "20.00", None, id="null for unsaid"),
        pytest.param(raw(confidence=...), "20.00", None, id="confidence left out"),
        pytest.param(raw(confidence="0"), "20.00", "0", id="not sure at all"),
        pytest.param(raw(confidence="1.000000"), "20.00", "1.000000", id="six digits"),
    ],
)
def test_numbers_are_kept_as_the_model_wrote_them(
    text: str, amount: str, confidence: str | None
) -> None:
    found = parse_arguments(ISSUE_REFUND, text)
    assert found == IssueRefund(
        order_id="ORD-1001",
        amount=amount,
        currency="USD",
        scope="partial",
        reason="it wobbles",
        confidence=confidence,
    )


@pytest.mark.parametrize(
    ("text", "field"),
    [
        pytest.param("", "order_id", id="nothing counts as no arguments"),
        pytest.param(" ", "arguments", id="white space"),
        pytest.param("null", "arguments", id="null"),
        pytest.param("[]", "arguments", id="a list"),
        pytest.param('"ORD-1001"', "arguments", id="a text"),
        pytest.param(raw()[:-1], "arguments", id="cut off"),
        pytest.param(f"```json\n{raw()}\n```", "arguments", id="in a fence"),
        pytest.param(raw() + raw(), "arguments", id="twice"),
        pytest.param(f"\ufeff{raw()}", "arguments", id="a byte order mark"),
        pytest.param('{"order_id": "a", "order_id": "b"}', "arguments", id="a key twice"),
        pytest.param('{"x": {"a": 1, "a": 1}}', "arguments", id="a key twice, nested"),
        pytest.param(raw().replace('"20.00"', "NaN"), "arguments", id="NaN"),
        pytest.param(raw().replace('"20.00"', "-Infinity"), "arguments", id="minus infinity"),
        pytest.param(raw().replace('"20.00"', "9" * 5000), "arguments", id="5,000 digits"),
        pytest.param("[" * 3_000, "arguments", id="3,000 open lists"),
        pytest.param('{"a":' * 3_000, "arguments", id="3,000 open objects"),
        pytest.param(" " * (MAX_PAYLOAD_BYTES + 1), "arguments", id="too long"),
        pytest.param(raw(order_id=...), "order_id", id="no order"),
        pytest.param(raw(order_id=""), "order_id", id="an empty order"),
        pytest.param(raw(order_id="O" * 65), "order_id", id="65 characters of order"),
        pytest.param(raw(order_id=1001), "order_id", id="a number for an order"),
        pytest.param(raw(order_id=None), "order_id", id="null for an order"),
        pytest.param(raw(order_id="\ud800"), "order_id", id="half a surrogate pair"),
        pytest.param(raw(order_id="ORD\x001"), "order_id", id="a NUL in the order"),
        pytest.param(raw(amount=...), "amount", id="no amount"),
        pytest.param(raw(amount=True), "amount", id="yes for an amount"),
        pytest.param(raw(amount=[20]), "amount", id="a list for an amount"),
        pytest.param(raw(amount={"minor": 1}), "amount", id="an object for an amount"),
        pytest.param(raw(amount="9" * 41), "amount", id="41 digits"),
        pytest.param(raw(amount=10**40), "amount", id="41 digits as a number"),
        pytest.param(raw(currency="US"), "currency", id="two letters"),
        pytest.param(raw(currency="USDT"), "currency", id="four letters"),
        pytest.param(raw(scope="FULL"), "scope", id="another scope"),
        pytest.param(raw(scope=...), "scope", id="no scope"),
        pytest.param(raw(reason=""), "reason", id="no reason"),
        pytest.param(raw(reason="x" * 1001), "reason", id="1,001 characters of reason"),
        pytest.param(raw(reason="x\x00"), "reason", id="a NUL in the reason"),
        pytest.param(raw(confidence="1.01"), "confidence", id="more than sure"),
        pytest.param(raw(confidence=2), "confidence", id="twice sure"),
        pytest.param(raw(confidence="-0.5"), "confidence", id="less than unsure"),
        pytest.param(raw(confidence="NaN"), "confidence", id="NaN as text"),
        pytest.param(raw(confidence="9e-1"), "confidence", id="an exponent"),
        pytest.param(raw(confidence="90%"), "confidence", id="percent"),
        pytest.param(raw(confidence="0.95\n"), "confidence", id="a line end"),
        pytest.param(raw(confidence="\u0660.\u0669"), "confidence", id="Arabic digits"),
        pytest.param(raw(confidence="0.1234567"), "confidence", id="seven digits"),
        pytest.param(raw(confidence=False), "confidence", id="no for a number"),
        pytest.param(raw(customer_id="cus_ben"), "customer_id", id="somebody else"),
        pytest.param(raw(Amount="1"), "Amount", id="another spelling"),
        pytest.param('{"\\ud800": 1}', "arguments", id="half a pair as a key"),
    ],
)
def test_malformed_arguments_name_the_first_fault(text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_arguments(ISSUE_REFUND, text)
    assert refused.value.field == field
    assert refused.value.problem
    str(refused.value).encode()


@given(
    text=st.text(max_size=80)
    | st.builds(
        json.dumps,
        st.dictionaries(
            st.sampled_from(sorted(FILLED)),
            st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        ),
    )
)
def test_any_arguments_are_read_or_refused_and_never_break(text: str) -> None:
    try:
        found = parse_arguments(ISSUE_REFUND, text)
    except InvalidInput:
        return
    assert isinstance(found, IssueRefund)
    assert 1 <= len(found.order_id) <= 64


@pytest.mark.parametrize(
    ("changes", "proposal"),
    [
        pytest.param(
            {}, RefundProposal("ORD-7", usd("20"), "partial", Decimal("0.95")), id="as written"
        ),
        pytest.param(
            {"currency": "usd", "scope": "full"},
            RefundProposal("ORD-7", usd("20"), "full", Decimal("0.95")),
            id="a code in small letters",
        ),
        pytest.param(
            {"amount": 1500, "currency": "JPY", "confidence": None},
            RefundProposal("ORD-7", Money(1500, "JPY"), "partial", None),
            id="yen, confidence unsaid",
        ),
        pytest.param(
            {"amount": "-5", "scope": "unclear"},
            RefundProposal("ORD-7", usd("-5"), "unclear", Decimal("0.95")),
            id="a negative amount",
        ),
    ],
)
def test_a_proposal_is_about_the_order_that_was_found(
    changes: dict[str, object], proposal: RefundProposal
) -> None:
    assert to_proposal(refund(**changes), "ORD-7") == proposal


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"amount": "10.555"}, "amount", id="a tenth of a cent"),
        pytest.param({"amount": "0.5", "currency": "JPY"}, "amount", id="half a yen"),
        pytest.param({"amount": "1e3"}, "amount", id="an exponent"),
        pytest.param({"amount": 1e300}, "amount", id="an exponent as a number"),
        pytest.param({"amount": "NaN"}, "amount", id="NaN"),
        pytest.param({"amount": "6,95"}, "amount", id="a decimal comma"),
        pytest.param({"amount": "$20"}, "amount", id="a sign"),
        pytest.param({"amount": "1000000000000"}, "amount", id="10^12"),
        pytest.param({"currency": "QQQ"}, "currency", id="no such currency"),
        pytest.param({"currency": "XAU"}, "currency", id="gold"),
    ],
)
def test_an_amount_that_the_currency_cannot_hold_is_no_proposal(
    changes: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        to_proposal(refund(**changes), "ORD-7")
    assert refused.value.field == field


def test_the_payload_holds_what_decides_and_none_of_the_models_prose() -> None:
    payload = refund_payload(
        order_id="ORD-7", customer_id=CustomerId("cus_ana"), amount=Money(1500, "JPY")
    )
    assert canonical(payload) == (
        '{"amount":{"currency":"JPY","minor":1500},"customer_id":"cus_ana","order_id":"ORD-7"}'
    )


STORED: dict[str, Any] = {
    "order_id": "ORD-7",
    "customer_id": "cus_ana",
    "amount": {"minor": 1500, "currency": "JPY"},
}


def test_what_was_stored_is_what_is_paid() -> None:
    payload = refund_payload(
        order_id="ORD-7", customer_id=CustomerId("cus_ana"), amount=Money(1500, "JPY")
    )
    assert payload == STORED
    assert read_refund_payload(canonical(payload)) == ("ORD-7", Money(1500, "JPY"))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        pytest.param("", "payload", id="nothing"),
        pytest.param("[]", "payload", id="a list"),
        pytest.param("{}", "order_id", id="an empty object"),
        pytest.param(json.dumps(STORED)[:-1], "payload", id="cut off"),
        pytest.param(json.dumps(STORED | {"order_id": 7}), "order_id", id="a number for an order"),
        pytest.param(json.dumps(STORED | {"amount": 1500}), "amount", id="a bare number"),
        pytest.param(json.dumps(STORED | {"note": ""}), "note", id="a field too many"),
        *(
            pytest.param(
                json.dumps(STORED | {"amount": {"minor": minor, "currency": "JPY"}}),
                "amount.minor",
                id=f"{minor!r} for minor units",
            )
            for minor in (0, -1, 1500.0, "1500", True, None)
        ),
        pytest.param(
            json.dumps(STORED | {"amount": {"minor": 1500}}), "amount.currency", id="no currency"
        ),
        pytest.param(
            json.dumps(STORED | {"amount": {"minor": 1500, "currency": "QQQ"}}),
            "currency",
            id="no such currency",
        ),
    ],
)
def test_a_damaged_payload_names_the_bad_field(text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_refund_payload(text)
    assert refused.value.field == field


def order(*, cancelled: bool) -> ShopOrder:
    return ShopOrder(
        id="ORD-7",
        customer_id=CustomerId("cus_ana"),
        placed_at=START - timedelta(days=3),
        total=usd("160.00"),
        paid=True,
        cancelled=cancelled,
        fulfillment="delivered",
        lines=(),
    )


@pytest.mark.parametrize(
    ("cancelled", "captured", "refunded", "status"),
    [
        pytest.param(False, "160.00", "0.00", "paid", id="paid"),
        pytest.param(False, "160.00", "0.01", "partly_refunded", id="a cent went back"),
        pytest.param(False, "160.00", "159.99", "partly_refunded", id="all but a cent went back"),
        pytest.param(False, "160.00", "160.00", "refunded", id="all went back"),
        pytest.param(False, "0.00", "0.00", "unpaid", id="never paid"),
        pytest.param(True, "160.00", "160.00", "cancelled", id="cancelled"),
        pytest.param(True, "0.00", "0.00", "cancelled", id="cancelled before payment"),
    ],
)
def test_one_word_says_where_an_order_stands(
    cancelled: bool, captured: str, refunded: str, status: str
) -> None:
    assert order_status(order(cancelled=cancelled), usd(captured), usd(refunded)) == status


def test_the_registered_tools_are_those_of_the_design() -> None:
    assert {name: tool.tool_class for name, tool in TOOLS.items()} == {
        "lookup_order": ToolClass.READ,
        "list_orders": ToolClass.READ,
        "check_policy": ToolClass.READ,
        "refund_status": ToolClass.READ,
        "issue_refund": ToolClass.MONEY,
        "hand_off": ToolClass.CONVERSATION,
        "withdraw_request": ToolClass.CONVERSATION,
        "compose_reply": ToolClass.DRAFT,
        "send_email": ToolClass.MESSAGE,
        "flag_for_fraud": ToolClass.ACCOUNT,
    }
    assert [spec.name for spec in SPECS] == list(TOOLS)
    assert len(TOOLS_VERSION) == 12


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_tool_declares_what_it_touches(tool: Tool) -> None:
    answers = tool.tool_class in {ToolClass.READ, ToolClass.DRAFT}
    assert (tool.read is not None) == answers
    touches = {ToolClass.READ: "none", ToolClass.DRAFT: "draft"}.get(tool.tool_class, "mutating")
    assert tool.side_effect == touches
    assert (tool.triggers == "nothing") == answers
    gated = {ToolClass.MONEY, ToolClass.MESSAGE, ToolClass.ACCOUNT}
    assert (tool.name in EFFECTS) == (tool.tool_class in gated)
    assert tool.requires_confirmation == (tool.tool_class in gated)
    assert (tool.impact == "low") == (tool.tool_class not in gated)
    assert tool.description.endswith(".")


def test_money_and_mail_are_what_cannot_be_taken_back() -> None:
    lasting = [tool.name for tool in TOOLS.values() if tool.reversible == "no"]
    confirmed = [tool.name for tool in TOOLS.values() if tool.requires_confirmation]
    grave = [tool.name for tool in TOOLS.values() if tool.impact == "high"]
    assert lasting == ["issue_refund", "send_email"]
    assert confirmed == list(EFFECTS) == ["issue_refund", "send_email", "flag_for_fraud"]
    assert grave == ["issue_refund", "flag_for_fraud"]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_no_tool_takes_a_field_it_does_not_know(tool: Tool) -> None:
    spec = tool.spec()
    assert spec.parameters["additionalProperties"] is False
    assert (spec.name, spec.description) == (tool.name, tool.description)
    with pytest.raises(InvalidInput):
        parse_arguments(tool, '{"customer_id": "cus_ben"}')


@pytest.mark.parametrize("tool", [LIST_ORDERS, REFUND_STATUS], ids=["list_orders", "refund_status"])
@pytest.mark.parametrize("text", ["", "{}"], ids=["nothing", "an empty object"])
def test_a_tool_without_arguments_takes_none(tool: Tool, text: str) -> None:
    assert parse_arguments(tool, text) == tool.arguments()


@pytest.mark.parametrize(
    ("tool", "arguments", "longest"),
    [
        pytest.param(LOOKUP_ORDER, "order_id", 64, id="lookup_order"),
        pytest.param(CHECK_POLICY, "question", 500, id="check_policy"),
        pytest.param(HAND_OFF, "reason", 500, id="hand_off"),
    ],
)
def test_a_text_argument_has_a_length(tool: Tool, arguments: str, longest: int) -> None:
    parse_arguments(tool, json.dumps({arguments: "x"}))
    parse_arguments(tool, json.dumps({arguments: "x" * longest}))
    for text in ("", "x" * (longest + 1)):
        with pytest.raises(InvalidInput) as refused:
            parse_arguments(tool, json.dumps({arguments: text}))
        assert refused.value.field == arguments


def test_arguments_are_read_as_their_own_kind() -> None:
    found = parse_arguments(LOOKUP_ORDER, '{"order_id": "ord-1001"}')
    assert found == LookupOrder(order_id="ord-1001")
    assert parse_arguments(HAND_OFF, '{"reason": "asked"}') == HandOff(reason="asked")


def test_a_failure_says_what_went_wrong() -> None:
    assert failure("not_found", "No such order.") == {
        "ok": False,
        "error": "not_found",
        "message": "No such order.",
    }


@pytest.mark.parametrize(
    "name",
    [
        "issue_refund",
        "hand_off",
        "send_email",
        "compose_reply",
        "flag_for_fraud",
        "withdraw_request",
    ],
)
def test_the_instructions_speak_only_of_tools_that_exist(name: str) -> None:
    assert name in INSTRUCTIONS
    assert name in TOOLS
