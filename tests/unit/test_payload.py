"""Payloads: one canonical text, one hash over all that a decision is about, strict reading."""

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.errors import InvalidPayload
from agent.domain.ids import ApprovalId
from agent.domain.payload import (
    MAX_PAYLOAD_BYTES,
    Json,
    Payload,
    canonical,
    parse_strict,
    payload_hash,
    proposal_key,
)
from tests.support.builders import APPROVAL_ID, ULID, refund_payload, usd

LARGEST = 2**53 - 1
BOUND: dict[str, Any] = {
    "tool": "issue_refund",
    "payload": refund_payload(usd("160.00")),
    "approval_id": APPROVAL_ID,
    "policy_version": "0123456789ab",
}
MEANT: dict[str, Any] = {
    "customer_id": "cus_ana",
    "tool": "issue_refund",
    "payload": refund_payload(usd("160.00")),
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
leaves = st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | texts
values: st.SearchStrategy[Json] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)
payloads: st.SearchStrategy[Payload] = st.dictionaries(texts, values, max_size=5)


def filled_to(size: int) -> str:
    """Return a canonical payload text of exactly `size` bytes."""
    return '{"a":"' + "x" * (size - 8) + '"}'


def nested(depth: int) -> Payload:
    """Return a payload of `depth` objects, one in the other."""
    found: Payload = {}
    for _ in range(depth - 1):
        found = {"a": found}
    return found


@given(payload=payloads)
def test_the_canonical_text_is_that_of_rfc_8785_and_reads_back_the_same(payload: Payload) -> None:
    text = canonical(payload)
    assert text.encode() == rfc8785.dumps(payload)
    assert json.loads(text) == payload
    assert parse_strict(text) == payload
    assert canonical(parse_strict(text)) == text


@given(payload=payloads, data=st.data())
def test_the_order_of_keys_and_white_space_do_not_matter(
    payload: Payload, data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(payload.items()))))
    text = json.dumps(shuffled, indent=2, ensure_ascii=data.draw(st.booleans()))
    assert canonical(parse_strict(text)) == canonical(payload)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        pytest.param({}, "{}", id="empty"),
        pytest.param({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}', id="keys sorted"),
        pytest.param({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}', id="by UTF-16"),
        pytest.param({"a": "\r\n\u2028"}, '{"a":"\\r\\n\u2028"}', id="line ends kept"),
        pytest.param({"a": "e\u0301"}, '{"a":"e\u0301"}', id="not normalised"),
        pytest.param({"a": LARGEST}, '{"a":9007199254740991}', id="the largest number"),
        pytest.param({"a": -LARGEST}, '{"a":-9007199254740991}', id="the smallest number"),
        pytest.param({"a": True, "b": 1}, '{"a":true,"b":1}', id="yes is not one"),
    ],
)
def test_the_canonical_text_is(payload: Payload, text: str) -> None:
    assert canonical(payload) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param('{"a": 1, "a": 1}', "the key 'a' appears twice", id="a key twice"),
        pytest.param('{"a": [{"b": 1, "b": 2}]}', "the key 'b' appears twice", id="nested"),
        pytest.param('{"a": {"b": {"c": 0, "\\u0063": 0}}}', "appears twice", id="by an escape"),
        pytest.param('{"a": NaN}', "NaN is not allowed", id="not a number"),
        pytest.param('{"a": [Infinity]}', "Infinity is not allowed", id="infinity"),
        pytest.param('{"a": -Infinity}', "-Infinity is not allowed", id="minus infinity"),
        pytest.param('{"a": 1.5}', "1.5 is not allowed", id="a fraction"),
        pytest.param('{"a": 1.0}', "1.0 is not allowed", id="a whole float"),
        pytest.param('{"a": {"b": 1e3}}', "1e3 is not allowed", id="an exponent"),
        pytest.param('{"a": 1e400}', "1e400 is not allowed", id="a float beyond all"),
        pytest.param('{"a": "\\ud800"}', "codepoints", id="half a surrogate pair"),
        pytest.param('{"\\udc00": 1}', "surrogates", id="half a pair as a key"),
        pytest.param('{"a": "\ud800"}', "codepoints", id="half a pair, unescaped"),
        pytest.param(f'{{"a": {2**53}}}', "9007199254740992", id="two to the 53"),
        pytest.param(f'{{"a": {-(2**53)}}}', "-9007199254740992", id="minus two to the 53"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "payload: ", id="5,000 digits"),
        pytest.param(filled_to(MAX_PAYLOAD_BYTES + 1), "larger than 32768", id="a byte too many"),
        pytest.param('{"a":"' + "\u00e9" * 16_381 + '"}', "larger than", id="counted in bytes"),
        pytest.param("\u00e9" * 16_385, "larger than", id="counted before it is read"),
        pytest.param('{"a":' + "[" * 2_000 + "]" * 2_000 + "}", "payload: ", id="2,000 lists"),
        pytest.param("[" * 10_000, "not valid JSON", id="10,000 open lists"),
        pytest.param('{"a":' * 6_000, "not valid JSON", id="6,000 open objects"),
        pytest.param("[]", "not a JSON object", id="a list"),
        pytest.param('"{}"', "not a JSON object", id="a text"),
        pytest.param("1", "not a JSON object", id="a number"),
        pytest.param("null", "not a JSON object", id="null"),
        pytest.param("", "not valid JSON", id="nothing"),
        pytest.param("{", "not valid JSON", id="cut off"),
        pytest.param("{} {}", "not valid JSON", id="two objects"),
        pytest.param("{'a': 1}", "not valid JSON", id="single quotes"),
        pytest.param('{"a": 1,}', "not valid JSON", id="a comma too many"),
        pytest.param('{"a": "\n"}', "not valid JSON", id="a raw line end"),
        pytest.param("\ufeff{}", "not valid JSON", id="a byte order mark"),
    ],
)
def test_what_a_lenient_reader_would_hide_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse_strict(text)
    assert problem in str(refused.value)
    assert refused.value.field == "payload"
    assert len(str(refused.value)) < 200


@given(text=st.text(max_size=60))
def test_any_text_is_read_or_refused_and_never_breaks(text: str) -> None:
    try:
        payload = parse_strict(text)
    except InvalidPayload:
        return
    assert parse_strict(canonical(payload)) == payload


def test_the_largest_payload_is_read() -> None:
    text = filled_to(MAX_PAYLOAD_BYTES)
    assert len(text) == 32 * 1024
    assert canonical(parse_strict(text)) == text


def test_escapes_do_not_make_a_payload_larger_than_its_canonical_text() -> None:
    with pytest.raises(InvalidPayload, match="larger than"):
        canonical({"a": "\x01" * 5_500})


@pytest.mark.parametrize("depth", [1, 10], ids=["flat", "10 deep"])
def test_nesting_is_read(depth: int) -> None:
    payload = nested(depth)
    assert parse_strict(canonical(payload)) == payload


@pytest.mark.parametrize("depth", [1_000, 5_000], ids=["1,000 deep", "5,000 deep"])
def test_nesting_beyond_all_sense_has_no_canonical_text(depth: int) -> None:
    with pytest.raises(InvalidPayload):
        canonical(nested(depth))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(1.0, id="a whole float"),
        pytest.param(float("nan"), id="not a number"),
        pytest.param([{"b": 0.5}], id="deep inside"),
        pytest.param(2**53, id="two to the 53"),
        pytest.param("\ud800", id="half a surrogate pair"),
        pytest.param({"\ud800": 1}, id="half a pair as a key"),
        pytest.param({1: 1}, id="a key that is no text"),
        pytest.param(b"a", id="bytes"),
    ],
)
def test_a_value_that_json_cannot_hold_exactly_has_no_canonical_text(value: Any) -> None:
    with pytest.raises(InvalidPayload):
        canonical({"a": value})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"tool": "send_email"}, id="the tool"),
        pytest.param({"approval_id": ApprovalId(f"apr_{ULID[:-1]}W")}, id="the approval"),
        pytest.param({"policy_version": "0123456789ac"}, id="the policy"),
        pytest.param({"payload": refund_payload(usd("160.01"))}, id="a cent"),
        pytest.param({"payload": refund_payload(usd("160.00"), "ORD-1002")}, id="the order"),
        pytest.param({"payload": BOUND["payload"] | {"note": ""}}, id="a field more"),
        pytest.param({"payload": {}}, id="no fields"),
    ],
)
def test_the_hash_changes_with_whatever_it_binds(change: dict[str, Any]) -> None:
    assert payload_hash(**(BOUND | change)) != payload_hash(**BOUND)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"tool": "send_email"}, id="the tool"),
        pytest.param({"customer_id": "cus_ben"}, id="the customer"),
        pytest.param({"payload": refund_payload(usd("160.01"))}, id="a cent"),
    ],
)
def test_proposals_are_identical_only_if_nothing_differs(change: dict[str, Any]) -> None:
    assert proposal_key(**(MEANT | change)) != proposal_key(**MEANT)


@given(one=payloads, other=payloads)
def test_two_payloads_share_a_hash_only_if_they_are_the_same(one: Payload, other: Payload) -> None:
    def bound(payload: Payload) -> str:
        return payload_hash(**(BOUND | {"payload": payload}))

    assert (bound(one) == bound(other)) == (canonical(one) == canonical(other))


def test_the_hash_is_what_the_specification_writes_down() -> None:
    text = rfc8785.dumps(BOUND)
    expected = hashlib.sha256(b"supportdesk/approval/v1\n" + text).hexdigest()
    assert payload_hash(**BOUND) == expected
    meant = {
        "customer": MEANT["customer_id"],
        "tool": MEANT["tool"],
        "payload": MEANT["payload"],
    }
    assert (
        proposal_key(**MEANT)
        == hashlib.sha256(b"supportdesk/proposal/v1\n" + rfc8785.dumps(meant)).hexdigest()
    )


def test_a_payload_and_a_proposal_of_the_same_content_never_share_a_hash() -> None:
    assert payload_hash(**BOUND) != proposal_key(**MEANT)
    assert len(payload_hash(**BOUND)) == len(proposal_key(**MEANT)) == 64
