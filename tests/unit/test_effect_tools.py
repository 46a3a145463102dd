"""What the tools with an effect take from the model, and what they make of a stored payload."""

import json
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.errors import InvalidInput
from agent.domain.payload import Payload, canonical
from agent.domain.roles import Role, Tier
from agent.tools.base import Tool, parse_arguments
from agent.tools.effects import customer_of, order_of
from agent.tools.emails import COMPOSE_REPLY, SEND_EMAIL, SendEmail, checked_address
from agent.tools.flags import FLAG_FOR_FRAUD, FlagForFraud
from agent.tools.registry import EFFECTS
from agent.tools.status import WITHDRAW_REQUEST, WithdrawRequest
from tests.support.builders import (
    ADDRESS,
    approval,
    email_approval,
    email_payload,
    flag_approval,
    policy,
    refund_payload,
    usd,
)

REFUND, EMAIL, FLAG = (EFFECTS[name] for name in ("issue_refund", "send_email", "flag_for_fraud"))
MAIL: dict[str, Any] = {"subject": "Hello", "body": "Dear Ana,", "reason": "she asked"}
SUSPICION: dict[str, Any] = {"score": "0.85", "signals": ["three cards"], "reason": "seen"}


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param("ana@example.com", "ana@example.com", id="plain"),
        pytest.param("Ana@Example.COM", "Ana@example.com", id="capitals"),
        pytest.param(" ana@example.com\n", "ana@example.com", id="white space around"),
        pytest.param("ana+shop@mail.example.com", "ana+shop@mail.example.com", id="a tag"),
        pytest.param("ana@xn--exmple-cua.com", "ana@xn--exmple-cua.com", id="punycode stays"),
        pytest.param("ana@ex\u00e4mple.com", "ana@xn--exmple-cua.com", id="another script"),
        pytest.param(
            "ana@ex\u0430mple.com", "ana@xn--exmple-4nf.com", id="a letter that looks the same"
        ),
    ],
)
def test_an_address_is_kept_in_plain_letters(written: str, kept: str) -> None:
    assert checked_address(written) == kept
    assert kept.isascii()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ana",
        "ana@",
        "@example.com",
        "ana@example",
        "ana@localhost",
        "ana@[127.0.0.1]",
        '"a b"@example.com',
        "Ana <ana@example.com>",
        "ana@example.com, ben@example.com",
        "ana@example.com\r\nBcc: ben@example.com",
        "\u0430na@example.com",
        "ana@example.com\0",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        checked_address(text)


def test_an_email_is_taken_as_it_was_written() -> None:
    raw = json.dumps(MAIL | {"to": ["Ana@Example.COM"], "cc": ["ben@example.net"]})
    assert parse_arguments(SEND_EMAIL, raw) == SendEmail(
        to=("Ana@example.com",),
        cc=("ben@example.net",),
        subject="Hello",
        body="Dear Ana,",
        reason="she asked",
    )


def test_a_flag_is_taken_as_it_was_written() -> None:
    raw = json.dumps(SUSPICION | {"score": "0.8500", "confidence": 1})
    assert parse_arguments(FLAG_FOR_FRAUD, raw) == FlagForFraud(
        score="0.8500", signals=("three cards",), reason="seen", confidence="1"
    )


def test_a_withdrawal_need_not_say_which() -> None:
    assert parse_arguments(WITHDRAW_REQUEST, "{}") == WithdrawRequest(approval_id=None)
    assert parse_arguments(WITHDRAW_REQUEST, '{"approval_id": "apr_1"}') == WithdrawRequest(
        approval_id="apr_1"
    )


TEN = [f"p{n}@example.com" for n in range(10)]


@pytest.mark.parametrize(
    ("tool", "changes", "field"),
    [
        pytest.param(SEND_EMAIL, {"to": ["ana"]}, "to.0", id="no address"),
        pytest.param(SEND_EMAIL, {"cc": ["a@b.com", "b"]}, "cc.1", id="no second address"),
        pytest.param(SEND_EMAIL, {"bcc": "a@b.com"}, "bcc", id="not a list"),
        pytest.param(SEND_EMAIL, {"to": [*TEN, "x@example.com"]}, "to", id="eleven"),
        pytest.param(SEND_EMAIL, {"subject": ""}, "subject", id="no subject"),
        pytest.param(SEND_EMAIL, {"subject": "x" * 201}, "subject", id="a long subject"),
        pytest.param(SEND_EMAIL, {"subject": "a\r\nBcc: b@c.com"}, "subject", id="two lines"),
        pytest.param(SEND_EMAIL, {"subject": "a\u2028b"}, "subject", id="a line separator"),
        pytest.param(SEND_EMAIL, {"body": ""}, "body", id="no text"),
        pytest.param(SEND_EMAIL, {"body": "x" * 12_001}, "body", id="a long text"),
        pytest.param(SEND_EMAIL, {"body": "a\x1b[2J"}, "body", id="an escape in the text"),
        pytest.param(SEND_EMAIL, {"template": "x" * 65}, "template", id="a long template name"),
        pytest.param(SEND_EMAIL, {"reason": ""}, "reason", id="no reason"),
        pytest.param(SEND_EMAIL, {"confidence": "1.1"}, "confidence", id="more than sure"),
        pytest.param(SEND_EMAIL, {"from": "x@example.com"}, "from", id="somebody else's name"),
        pytest.param(COMPOSE_REPLY, {"subject": "a\nb"}, "subject", id="a draft's subject"),
        pytest.param(COMPOSE_REPLY, {"body": "a\0"}, "body", id="a NUL in a draft"),
        pytest.param(COMPOSE_REPLY, {"to": [ADDRESS]}, "to", id="a draft goes nowhere"),
        pytest.param(FLAG_FOR_FRAUD, {"score": "1.01"}, "score", id="over one"),
        pytest.param(FLAG_FOR_FRAUD, {"score": "-0.1"}, "score", id="under nothing"),
        pytest.param(FLAG_FOR_FRAUD, {"score": "80 %"}, "score", id="percent"),
        pytest.param(FLAG_FOR_FRAUD, {"score": "8e-1"}, "score", id="an exponent"),
        pytest.param(FLAG_FOR_FRAUD, {"score": True}, "score", id="yes for a score"),
        pytest.param(FLAG_FOR_FRAUD, {"score": None}, "score", id="no score"),
        pytest.param(FLAG_FOR_FRAUD, {"signals": []}, "signals", id="nothing seen"),
        pytest.param(FLAG_FOR_FRAUD, {"signals": ["x"] * 11}, "signals", id="eleven facts"),
        pytest.param(FLAG_FOR_FRAUD, {"signals": [""]}, "signals.0", id="an empty fact"),
        pytest.param(FLAG_FOR_FRAUD, {"signals": ["x" * 301]}, "signals.0", id="a long fact"),
        pytest.param(FLAG_FOR_FRAUD, {"signals": "x"}, "signals", id="a text for facts"),
        pytest.param(FLAG_FOR_FRAUD, {"action": "monitor"}, "action", id="the action is code's"),
        pytest.param(FLAG_FOR_FRAUD, {"customer_id": "cus_ben"}, "customer_id", id="another one"),
        pytest.param(WITHDRAW_REQUEST, {"approval_id": "x" * 65}, "approval_id", id="a long id"),
    ],
)
def test_malformed_arguments_name_the_fault(
    tool: Tool, changes: dict[str, Any], field: str
) -> None:
    whole = {SEND_EMAIL: MAIL, FLAG_FOR_FRAUD: SUSPICION, WITHDRAW_REQUEST: {}}
    draft = {"subject": "Hello", "body": "Dear Ana,"}
    with pytest.raises(InvalidInput) as refused:
        parse_arguments(tool, json.dumps(whole.get(tool, draft) | changes))
    assert refused.value.field == field
    assert refused.value.problem


def without(payload: Payload, name: str) -> Payload:
    return {key: value for key, value in payload.items() if key != name}


MAILED, FLAGGED = email_payload(), flag_approval().payload
PAID = refund_payload(usd("160.00"))


@pytest.mark.parametrize(
    ("make", "payload", "field"),
    [
        pytest.param(email_approval, without(MAILED, "bcc"), "bcc", id="no blind copies"),
        pytest.param(email_approval, MAILED | {"to": []}, "to", id="to nobody"),
        pytest.param(email_approval, MAILED | {"to": ADDRESS}, "to", id="a bare address"),
        pytest.param(email_approval, MAILED | {"to": [7]}, "to.0", id="a number to write to"),
        pytest.param(email_approval, MAILED | {"body": None}, "body", id="no text"),
        pytest.param(email_approval, MAILED | {"reply_to": ""}, "reply_to", id="a field too many"),
        pytest.param(flag_approval, without(FLAGGED, "action"), "action", id="no action"),
        pytest.param(flag_approval, FLAGGED | {"action": "block"}, "action", id="another action"),
        pytest.param(flag_approval, FLAGGED | {"score": "1.5"}, "score", id="over one"),
        pytest.param(flag_approval, FLAGGED | {"score": 1}, "score", id="a bare number"),
        pytest.param(flag_approval, FLAGGED | {"signals": []}, "signals", id="no signal"),
        pytest.param(flag_approval, FLAGGED | {"customer_id": ""}, "customer_id", id="of nobody"),
        pytest.param(approval, without(PAID, "amount"), "amount", id="no amount"),
        pytest.param(approval, MAILED, "amount", id="a payload of another tool"),
    ],
)
def test_a_damaged_payload_names_the_bad_field(make: Any, payload: Payload, field: str) -> None:
    row = make(payload=payload)
    with pytest.raises(InvalidInput) as refused:
        EFFECTS[row.tool].check(row)
    assert refused.value.field == field


def test_a_whole_payload_passes() -> None:
    for row in (approval(), email_approval(), flag_approval(), email_approval(order_id=None)):
        EFFECTS[row.tool].check(row)
        assert row.payload_text == canonical(row.payload)
    # What a person has written is no template.
    EMAIL.check(email_approval(payload=email_payload(template=None)))


FRIEND = "ben@example.net"


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        pytest.param({}, False, "", id="nothing"),
        pytest.param({"to": [FRIEND]}, True, "the recipients", id="to somebody else"),
        pytest.param({"to": [ADDRESS, FRIEND]}, True, "the recipients", id="to one more"),
        pytest.param({"cc": [FRIEND]}, True, "Cc", id="a copy"),
        pytest.param({"bcc": [FRIEND]}, True, "Bcc", id="a blind copy"),
        pytest.param({"to": [], "cc": [ADDRESS]}, False, "the recipients, Cc", id="moved"),
        pytest.param({"subject": "Hi", "body": "Hi"}, False, "the subject, the text", id="text"),
    ],
)
def test_a_changed_email_gives_more_away_only_to_more_people(
    change: Payload, more: bool, words: str
) -> None:
    after = MAILED | change
    assert EMAIL.exceeds(MAILED, after) is more
    assert EMAIL.describe_change(MAILED, after) == words


def test_fewer_recipients_are_no_more() -> None:
    many = MAILED | {"cc": [FRIEND], "bcc": ["mia@example.org"]}
    assert not EMAIL.exceeds(many, MAILED)
    assert EMAIL.exceeds(MAILED, many)


@pytest.mark.parametrize(
    ("after", "more", "words"),
    [
        pytest.param(PAID, False, "", id="nothing"),
        pytest.param(
            refund_payload(usd("159.99")),
            False,
            "the amount from 160.00 USD to 159.99 USD",
            id="less",
        ),
        pytest.param(
            refund_payload(usd("160.01")),
            True,
            "the amount from 160.00 USD to 160.01 USD",
            id="a cent more",
        ),
        pytest.param(
            refund_payload(usd("160.00"), "ORD-1002"),
            True,
            "the order from ORD-1001 to ORD-1002",
            id="another order",
        ),
        pytest.param(
            refund_payload(usd("1.00"), "ORD-1002"),
            True,
            "the amount from 160.00 USD to 1.00 USD and the order from ORD-1001 to ORD-1002",
            id="less on another order",
        ),
    ],
)
def test_a_changed_refund_gives_more_away_when_it_pays_more_or_elsewhere(
    after: Payload, more: bool, words: str
) -> None:
    assert REFUND.exceeds(PAID, after) is more
    assert REFUND.describe_change(PAID, after) == words


def test_a_flag_is_never_the_same_when_it_is_changed() -> None:
    other = FLAGGED | {"score": "0.84"}
    assert FLAG.exceeds(FLAGGED, other)
    assert FLAG.describe_change(FLAGGED, other) == "the flag"
    assert not FLAG.exceeds(FLAGGED, FLAGGED)
    assert FLAG.describe_change(FLAGGED, FLAGGED) == "nothing"


def test_who_decides_and_by_when_is_the_policys() -> None:
    rules = policy()
    refund = REFUND.terms(rules, refund_payload(usd("500.01")))
    email, flag = EMAIL.terms(rules, MAILED), FLAG.terms(rules, FLAGGED)
    assert refund.tier == Tier(Role.REFUND_MANAGER)
    assert refund.decide_within == timedelta(minutes=30)
    assert (email.tier, email.decide_within) == (Tier(Role.REFUND_APPROVER), timedelta(hours=4))
    assert (flag.tier, flag.decide_within) == (Tier(Role.REFUND_MANAGER), timedelta(hours=24))
    assert refund.use_within_s == email.use_within_s == flag.use_within_s == 900
    other = policy(emails={"decide_within_s": 60, "use_within_s": 30, "approvals": 2})
    strict = EMAIL.terms(other, MAILED)
    assert (strict.decide_within, strict.use_within_s) == (timedelta(minutes=1), 30)
    assert strict.tier == Tier(Role.REFUND_APPROVER, 2)


def test_only_a_mail_server_cannot_be_asked_afterwards() -> None:
    assert [name for name, effect in EFFECTS.items() if not effect.can_look] == ["send_email"]


@pytest.mark.parametrize(
    ("payload", "customer", "order"),
    [
        pytest.param(MAILED, "cus_ana", "ORD-1001", id="both"),
        pytest.param({"customer_id": "", "order_id": None}, None, None, id="a visitor"),
        pytest.param({}, None, None, id="neither"),
        pytest.param({"customer_id": 7, "order_id": 7}, None, None, id="numbers"),
    ],
)
def test_whom_and_what_a_payload_is_about(
    payload: Payload, customer: str | None, order: str | None
) -> None:
    assert customer_of(payload) == customer
    assert order_of(payload) == order
