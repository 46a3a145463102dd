"""Whatever a transcript holds, the offline model answers and never breaks a promise."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from agent.domain.conversation import ChatMessage, ToolCall
from agent.ports import ChatAnswer, ChatRequest
from agent.providers.offline_model import OfflineModel
from agent.providers.offline_transcript import OUTCOME_EVENT
from agent.tools.registry import SPECS
from tests.support.offline_driver import Chat, Line, Order

# Pieces of sentences the rules look for, so that they meet in ways nobody wrote down.
_SCRAPS = st.sampled_from([
    "refund", "$5", "$", "-$3", "€12,50", "¥3000", "10%", "half", "third", "1/3", "20", "0",
    "1e9", "NaN", "ORD-1001", "#1002", "w2611340", "order", "1001", "the", "lamp", "mug", "mugs",
    "chair", "both", "all", "everything", "rest", "it", "on", "for", "and", "or", ",", ".", "?",
    "each", "my", "last", "first", "one", "broken", "return", "cancel", "back", "money", "some",
    "yes", "no", "please", "thanks", "human", "again", "news", "where", "policy", "dollars",
    "euros", "cents", "minus", "a", "hundred", "two", "paid", "not", "want", "e-mail", "me",
    "draft", "never mind", "withdraw", "request", "that says", "about", "a@b.co", "x@", "cc",
    "instructions", "photo", "send", "with somebody else's card", "i", "twice", "chargeback",
])  # fmt: skip
_SENTENCES = st.lists(_SCRAPS, max_size=14).map(" ".join)
_TEXTS = st.one_of(_SENTENCES, st.text(max_size=60), st.text(st.characters(), max_size=10))
_CALL_IDS = st.sampled_from(["call_1_0", "call_2_0", "call_3_1", "x"])
_NAMES = st.sampled_from([spec.name for spec in SPECS] + ["no_such_tool"])

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(["USD", "ORD-1001", "x{y}", "", "é"])
)
_MONEY = st.fixed_dictionaries(
    {
        "minor": st.integers(-(10**15), 10**15),
        "currency": st.sampled_from(["USD", "JPY", "XXX", "?"]),
    }
)
_LINES = st.fixed_dictionaries(
    {
        "name": _TEXTS,
        "quantity": st.integers(-1, 10**7),
        "price": _MONEY,
        "final_sale": st.booleans(),
    }
)
_ORDERS = st.fixed_dictionaries(
    {
        "order_id": st.sampled_from(["ORD-1001", "#1002", "{}", ""]),
        "status": st.sampled_from(["paid", "unpaid", "cancelled", "?"]),
        "fulfillment": st.sampled_from(["fulfilled", "", "{odd}"]),
        "total": _MONEY,
        "refunded": _MONEY,
        "remaining": _MONEY,
        "lines": st.lists(_LINES, max_size=3),
    }
)
_SHOWN = st.fixed_dictionaries(
    {},
    optional={
        "approval_id": st.sampled_from(["apr_1", "apr_2", None]),
        "tool": st.sampled_from(["issue_refund", "send_email", "flag_for_fraud", []]),
        "order_id": st.sampled_from(["ORD-1001", None]),
        "amount": st.sampled_from(["5.00 USD", None, {"minor": 5, "currency": "?"}]),
        "status": st.sampled_from(["pending", "done", "failed", {}]),
    },
)
_STATUSES = st.sampled_from(["pending_approval", "executed", "checking", "cancelled", "draft", 1])
_ERRORS = st.sampled_from(["ambiguous", "not_found", "too_late_to_withdraw", "already_edited", []])
_NEWER = st.fixed_dictionaries(
    {},
    optional={
        "ok": st.booleans(),
        "approval_id": st.sampled_from(["apr_1", "apr_2", None]),
        "status": _STATUSES,
        "error": _ERRORS,
        "requests": st.lists(_SHOWN, max_size=3),
        "draft": st.one_of(_SCALARS, st.dictionaries(st.sampled_from(["to", "body"]), _SCALARS)),
        "email_templates": st.lists(
            st.dictionaries(st.sampled_from(["name", "subject"]), _SCALARS), max_size=2
        ),
    },
)
_RESULTS = st.one_of(
    _NEWER,
    st.fixed_dictionaries({"ok": st.booleans(), "order": _ORDERS}),
    st.fixed_dictionaries({"ok": st.booleans(), "orders": st.lists(_ORDERS, max_size=3)}),
    st.dictionaries(
        st.sampled_from(["ok", "status", "error", "message", "amount", "orders", "requests"]),
        st.one_of(_SCALARS, st.lists(_SCALARS, max_size=2), st.dictionaries(st.text(), _SCALARS)),
    ),
)
_ARGUMENTS = st.one_of(
    st.sampled_from(["", "{", "[]", "{}", '{"order_id": "ORD-1001"}', '{"order_id": {}}']),
    st.dictionaries(
        st.sampled_from(["order_id", "amount", "currency", "template", "to", "body", "signals"]),
        st.one_of(_SCALARS, st.lists(_SCALARS, max_size=2)),
    ).map(json.dumps),
)
_EVENTS = st.sampled_from([OUTCOME_EVENT, OUTCOME_EVENT, "human_edit", "asked_again"])
_PAYLOADS = st.dictionaries(
    st.sampled_from(["order_id", "amount", "template", "subject"]), st.one_of(_SCALARS, _MONEY)
)
_FIELDS = st.dictionaries(
    st.sampled_from(
        ["outcome", "order_id", "amount", "reason", "edited", "ok", "tool", "from", "to", "error"]
    ),
    st.one_of(
        _SCALARS,
        st.sampled_from(["executed", "rejected", "expired", "send_email", "flag_for_fraud"]),
        _PAYLOADS,
        st.dictionaries(st.sampled_from(["from", "to"]), st.one_of(_SCALARS, _PAYLOADS)),
    ),
)
_OUTCOMES = st.builds(
    lambda event, named, fields: json.dumps({"event": event, "approval_id": named, **fields}),
    _EVENTS,
    st.sampled_from(["apr_1", "apr_2"]),
    _FIELDS,
)
_CALLS = st.builds(ToolCall, _CALL_IDS, _NAMES, _ARGUMENTS)
_MESSAGES = st.one_of(
    st.builds(ChatMessage, st.just("user"), _TEXTS),
    st.builds(ChatMessage, st.just("assistant"), _TEXTS, st.lists(_CALLS, max_size=2).map(tuple)),
    st.builds(ChatMessage, st.just("tool"), _RESULTS.map(json.dumps), st.just(()), _CALL_IDS),
    st.builds(ChatMessage, st.just("system"), st.one_of(_OUTCOMES, _TEXTS)),
)


def complete(messages: Sequence[ChatMessage]) -> ChatAnswer:
    return OfflineModel().complete(ChatRequest(tuple(messages), SPECS))


@given(st.lists(_MESSAGES, max_size=12))
def test_any_transcript_gets_words_or_calls_with_new_ids(messages: list[ChatMessage]) -> None:
    said = complete(messages)
    assert bool(said.text.strip()) != bool(said.calls)
    assert said == complete(messages)
    ids = [call.call_id for call in said.calls]
    taken = {call.call_id for message in messages for call in message.calls}
    assert len(set(ids)) == len(ids)
    assert not taken.intersection(ids)


def book() -> dict[str, Order]:
    return {
        "ORD-1001": Order([Line("Oak chair", 16_000), Line("Sea blue mug", 900, 4)]),
        "#1002": Order([Line("Brass lamp", 4800)], currency="EUR"),
    }


@given(st.lists(_TEXTS, min_size=1, max_size=3))
def test_any_talk_ends_in_words_with_arguments_the_tools_take(texts: list[str]) -> None:
    talk = Chat(book())
    for text in texts:
        assert talk.says(text).strip()


@given(_TEXTS)
def test_nothing_is_called_done_that_was_not_executed(text: str) -> None:
    talk = Chat(book())
    said = talk.says(text)
    paid = sum(order.refunded for order in (talk.orders or {}).values())
    assert ("Done: I have refunded" in said) == (paid > 0)


def test_a_window_of_the_transcript_keeps_ids_new() -> None:
    talk = Chat(book())
    for _ in range(30):
        talk.says("refund $1 on ORD-1001")
    window = talk.messages[-40:]
    said = complete([*window, ChatMessage("user", "refund $1 on ORD-1001")])
    taken = {call.call_id for message in talk.messages for call in message.calls}
    assert said.calls
    assert not taken.intersection(call.call_id for call in said.calls)


def test_a_very_long_message_is_read_and_quoted_in_part() -> None:
    talk = Chat(book())
    said = talk.says("refund $5 on ORD-1001 " + "please " * 30_000)
    assert said == "Done: I have refunded 5.00 USD on ORD-1001."
    assert all(len(str(arguments)) < 1000 for _, arguments in talk.made)


def test_an_open_message_below_an_outcome_is_answered_next() -> None:
    outcome = {"event": OUTCOME_EVENT, "outcome": "expired", "order_id": "ORD-1001"}
    messages = [
        ChatMessage("user", "where is ORD-1001?"),
        ChatMessage("system", json.dumps(outcome)),
    ]
    told = complete(messages)
    assert "No one decided in time" in told.text
    messages.append(ChatMessage("assistant", told.text))
    assert [call.name for call in complete(messages).calls] == ["lookup_order"]


def test_results_behind_an_outcome_belong_to_the_message_before_it() -> None:
    outcome = {"event": OUTCOME_EVENT, "outcome": "executed", "ok": True, "order_id": "ORD-1002"}
    asked = [ChatMessage("user", "I want to talk to a person")]
    call = complete(asked).calls[0]
    said = complete(
        [
            *asked,
            ChatMessage("assistant", "", calls=(call,)),
            ChatMessage("system", json.dumps(outcome)),
            ChatMessage("tool", '{"ok": true}', call_id=call.call_id),
        ]
    )
    assert "I have passed our conversation" in said.text
