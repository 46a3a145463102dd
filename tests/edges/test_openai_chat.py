"""The OpenAI provider against a server that refuses what OpenAI refuses."""

import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.conversation import ChatMessage, ToolCall
from agent.domain.errors import InvalidInput, ModelUnavailable, Unheard
from agent.ports import ChatRequest
from agent.providers.openai_chat import (
    MAX_OUTPUT_TOKENS,
    OpenAiChat,
    _message_json,
    in_api_order,
    open_ai_chat,
)
from agent.tools.registry import INSTRUCTIONS, SPECS
from tests.support.openai_standin import (
    KEY,
    MODEL,
    SERVED_MODEL,
    Reply,
    Standin,
    answer,
    calls,
    chunk,
    error,
    order_problem,
    running_standin,
    says,
    streamed,
)

SYSTEM = ChatMessage("system", INSTRUCTIONS)
HELLO = ChatMessage("user", "Hello, where is ORD-1001?")
LOOKUP = ToolCall("call_a", "lookup_order", '{"order_id": "ORD-1001"}')
STATUS = ToolCall("call_b", "refund_status", "{}")
OUTCOME = ChatMessage("system", '{"event": "approval_outcome", "outcome": "executed"}')


def result(call: ToolCall, content: str = '{"ok": true}') -> ChatMessage:
    return ChatMessage("tool", content, call_id=call.call_id)


def asks(*made: ToolCall, words: str = "") -> ChatMessage:
    return ChatMessage("assistant", words, calls=made)


def request(*messages: ChatMessage) -> ChatRequest:
    return ChatRequest(messages=(SYSTEM, *messages), tools=SPECS)


@pytest.fixture
def server() -> Iterator[Standin]:
    with running_standin() as standin:
        yield standin


@pytest.fixture
def chat(server: Standin) -> OpenAiChat:
    return open_ai_chat(KEY, server.url, MODEL, timeout_s=10.0, max_retries=2)


def problem_of(chat: OpenAiChat, *messages: ChatMessage) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        chat.complete(request(*messages or (HELLO,)))
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_words_come_back_with_who_said_them_and_what_they_cost(
    server: Standin, chat: OpenAiChat
) -> None:
    server.script.append(says(" It is on its way. "))
    said = chat.complete(request(HELLO))
    assert (said.text, said.calls) == ("It is on its way.", ())
    assert (chat.name, said.model) == (MODEL, SERVED_MODEL)
    assert (said.tokens_in, said.tokens_out) == (120, 7)


def test_the_request_carries_the_transcript_the_tools_and_a_limit(
    server: Standin, chat: OpenAiChat
) -> None:
    server.script.append(says("Done."))
    chat.complete(
        request(
            HELLO,
            asks(LOOKUP, STATUS, words="One moment."),
            result(LOOKUP, '{"ok": true, "order": {}}'),
            result(STATUS),
            OUTCOME,
        )
    )
    (body,) = server.bodies
    assert body["messages"][0] == {"role": "system", "content": INSTRUCTIONS}
    assert body["messages"][2] == {
        "role": "assistant",
        "content": "One moment.",
        "tool_calls": [
            {
                "id": "call_a",
                "type": "function",
                "function": {"name": "lookup_order", "arguments": LOOKUP.arguments},
            },
            {
                "id": "call_b",
                "type": "function",
                "function": {"name": "refund_status", "arguments": "{}"},
            },
        ],
    }
    assert body["messages"][3] == {
        "role": "tool",
        "tool_call_id": "call_a",
        "content": '{"ok": true, "order": {}}',
    }
    assert body["messages"][5] == {"role": "system", "content": OUTCOME.content}
    assert [tool["function"]["name"] for tool in body["tools"]] == [s.name for s in SPECS]
    assert body["tools"][0]["function"]["parameters"] == SPECS[0].parameters
    assert body["max_completion_tokens"] == MAX_OUTPUT_TOKENS
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_parallel_calls_come_back_raw_even_when_malformed(
    server: Standin, chat: OpenAiChat
) -> None:
    server.script.append(
        calls(("c1", "issue_refund", '{"order_id": "ORD-1001", '), ("c2", "refund_status", ""))
    )
    said = chat.complete(request(HELLO))
    assert said.text == ""
    assert said.calls == (
        ToolCall("c1", "issue_refund", '{"order_id": "ORD-1001", '),
        ToolCall("c2", "refund_status", ""),
    )


def test_malformed_calls_in_the_transcript_do_not_make_the_server_refuse_it(
    server: Standin, chat: OpenAiChat
) -> None:
    server.script.append(says("Sorry."))
    odd = ToolCall("c1", "issue refund; drop", '{"order_id": ')
    chat.complete(request(HELLO, asks(odd), result(odd), ChatMessage("user", "\ud83d broken")))
    function = server.bodies[0]["messages"][2]["tool_calls"][0]["function"]
    assert function["name"] == "issue_refund__drop"
    assert json.loads(function["arguments"]) == {"malformed": '{"order_id": '}
    assert server.bodies[0]["messages"][4]["content"] == "? broken"


def test_ids_that_a_server_uses_again_are_made_new(server: Standin, chat: OpenAiChat) -> None:
    server.script.append(
        calls(("call_a", "refund_status", "{}"), ("", "list_orders", "{}"), ("x", "hand_off", "{}"))
    )
    said = chat.complete(request(HELLO, asks(LOOKUP), result(LOOKUP)))
    ids = [call.call_id for call in said.calls]
    assert len({*ids, "call_a"}) == 4
    assert ids[2] == "x"


def test_arguments_that_a_compatible_server_gives_as_an_object_become_text(
    server: Standin, chat: OpenAiChat
) -> None:
    made = {"function": {"name": "lookup_order", "arguments": {"order_id": "ORD-1001"}}}
    server.script.append(
        Reply(body=json.dumps({"choices": [{"message": {"tool_calls": [made]}}]}).encode())
    )
    said = chat.complete(request(HELLO))
    assert json.loads(said.calls[0].arguments) == {"order_id": "ORD-1001"}
    assert (said.model, said.tokens_in) == (MODEL, 0)


def test_results_are_sent_behind_their_calls_whatever_came_between(
    server: Standin, chat: OpenAiChat
) -> None:
    server.script.append(says("Here you are."))
    chat.complete(
        request(
            result(ToolCall("lost", "list_orders", "{}")),
            HELLO,
            asks(LOOKUP, STATUS),
            result(STATUS),
            OUTCOME,
            ChatMessage("user", "any news?"),
            result(LOOKUP),
        )
    )
    roles = [message["role"] for message in server.bodies[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "system", "user"]
    assert server.refused == []


def test_the_standin_refuses_what_openai_refuses(server: Standin) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0)
    with pytest.raises(openai.BadRequestError, match="must be followed by tool messages"):
        client.chat.completions.create(
            model=MODEL,
            messages=[
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        }
                    ],
                },
                {"role": "user", "content": "hello"},
            ],
        )
    with pytest.raises(openai.BadRequestError, match="Unrecognized request argument"):
        client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "x"}], extra_body={"top_k": 1}
        )


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_fault_is_tried_again_as_soon_as_the_server_allows(
    server: Standin, chat: OpenAiChat, status: int
) -> None:
    server.script += [error(status, "busy", "busy", retry_after="0.01"), says("Hello.")]
    assert chat.complete(request(HELLO)).text == "Hello."
    assert server.asked == 2


def test_a_lasting_fault_ends_after_the_bounded_tries(server: Standin, chat: OpenAiChat) -> None:
    server.script += [error(429, "rate_limit_exceeded", "slow", retry_after="0.01")] * 3
    assert problem_of(chat) == "the model's server answered 429 (rate_limit_exceeded)"
    assert server.asked == 3


def test_waiting_longer_than_the_call_may_take_is_not_even_begun(
    server: Standin, chat: OpenAiChat
) -> None:
    server.script.append(error(429, "rate_limit_exceeded", "slow", retry_after="60"))
    assert "429" in problem_of(chat)
    assert server.asked == 1


def test_back_off_grows_and_heeds_what_the_server_asks(server: Standin) -> None:
    waits: list[float] = []
    client = openai.OpenAI(api_key=KEY, base_url=server.url)
    chat = OpenAiChat(client, MODEL, max_retries=5, pause=waits.append)
    server.script += [error(500, "server_error", "oops")] * 3
    server.script += [error(429, "busy", "busy", retry_after="3"), Reply(ending="gone")]
    server.script += [says("Hello.")]
    assert chat.complete(request(HELLO)).text == "Hello."
    assert waits == [0.5, 1.0, 2.0, 3.0, 8.0]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(body=b"<html>oops</html>"), "the model's server sent something unreadable"),
        (Reply(body=b'{"choices": 5}'), "the model's server sent something unreadable"),
        (Reply(body=b"\xff\xfe"), "the model's server sent something unreadable"),
        (Reply(headers={"Content-Encoding": "gzip"}, body=b"not gzip"), "unreadable"),
        (Reply(body=b" " * (1024 * 1024 + 1)), "unreadable"),
        (Reply(body=b"{}"), "the model gave no answer"),
        (answer({"content": ""}), "the model gave an empty answer"),
        (answer({"content": None}, finish="length"), "the model gave an empty answer"),
        (answer({"content": "Well"}, finish="content_filter"), "filtered the answer"),
        (error(400, "invalid_request_error", "no"), "answered 400 (invalid_request_error)"),
        (error(401, "invalid_api_key", f"Incorrect key {KEY}"), "401 (invalid_api_key)"),
        (error(403, f"key {KEY}", "no"), "the model's server answered 403"),
        (error(404, "model_not_found", "no"), "answered 404 (model_not_found)"),
        (Reply(status=418, body=b"teapot"), "the model's server answered 418"),
    ],
)
def test_no_usable_answer_is_said_in_safe_words(
    server: Standin, chat: OpenAiChat, reply: Reply, problem: str
) -> None:
    server.script.append(reply)
    assert problem in problem_of(chat)


def test_a_refusal_is_an_answer_too(server: Standin, chat: OpenAiChat) -> None:
    server.script.append(answer({"content": None, "refusal": "I cannot help with that."}))
    assert chat.complete(request(HELLO)).text == "I cannot help with that."


@pytest.mark.parametrize("ending", ["gone", "drop"])
def test_a_lost_connection_is_tried_again_and_then_reported(server: Standin, ending: str) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=server.url)
    chat = OpenAiChat(client, MODEL, max_retries=1, pause=lambda _seconds: None)
    lost = Reply(body=b'{"choices"', ending="gone" if ending == "gone" else "drop")
    server.script += [lost, says("Hello."), lost, lost]
    assert chat.complete(request(HELLO)).text == "Hello."
    assert problem_of(chat) == "the model's server could not be reached"


def test_no_server_at_all_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chat = open_ai_chat("", f"http://127.0.0.1:{port}/v1", MODEL, max_retries=0)
    assert problem_of(chat) == "the model's server could not be reached"


@pytest.mark.parametrize("ending", ["hang", "drip"])
def test_the_whole_call_ends_in_time(server: Standin, ending: str) -> None:
    chat = open_ai_chat(KEY, server.url, MODEL, timeout_s=0.3, max_retries=5)
    server.script += [Reply(ending="hang" if ending == "hang" else "drip")] * 6
    assert problem_of(chat) == "no answer within 0.3 s"
    assert server.asked == 1


def test_a_server_of_ones_own_needs_no_key(server: Standin) -> None:
    server.key = None
    server.script.append(says("Hello."))
    chat = open_ai_chat("", server.url, MODEL)
    assert chat.complete(request(HELLO)).text == "Hello."


def test_a_wrong_key_is_reported_without_showing_it(server: Standin) -> None:
    chat = open_ai_chat("sk-secret-of-mine", server.url, MODEL)
    assert problem_of(chat) == "the model's server answered 401 (invalid_api_key)"


def test_a_key_that_no_header_can_carry_is_refused_at_the_start() -> None:
    with pytest.raises(InvalidInput, match="api_key"):
        open_ai_chat("sk-é", "", MODEL)


def test_an_older_server_is_given_the_limit_by_its_older_name(server: Standin) -> None:
    server.unknown_fields = {"max_completion_tokens"}
    server.script += [says("Hello."), says("Again.")]
    chat = open_ai_chat(KEY, server.url, MODEL, max_retries=0)
    assert chat.complete(request(HELLO)).text == "Hello."
    assert chat.complete(request(HELLO)).text == "Again."
    assert [body["max_tokens"] for body in server.bodies] == [MAX_OUTPUT_TOKENS] * 2
    assert server.asked == 3


class Ear:
    """Hears an answer while it comes; after `most` pieces it wants no more."""

    def __init__(self, most: int = 1_000) -> None:
        self.heard: list[str] = []
        self._most = most

    def __call__(self, so_far: str) -> None:
        if len(self.heard) == self._most:
            raise Unheard
        self.heard.append(so_far)


def test_words_are_heard_while_they_come(server: Standin, chat: OpenAiChat) -> None:
    server.script += [says("It is on 🚚 its way. "), calls(("c1", "refund_status", "{}"))]
    server.script.append(answer({"content": None, "refusal": "I cannot."}))
    ear = Ear()
    said = chat.complete(request(HELLO), ear)
    assert ear.heard[:3] == ["It ", "It is ", "It is on "]
    assert ear.heard[-1] == "It is on 🚚 its way. "
    assert (said.text, said.tokens_in, said.tokens_out) == ("It is on 🚚 its way.", 120, 7)
    ear = Ear()
    assert chat.complete(request(HELLO), ear).calls == (ToolCall("c1", "refund_status", "{}"),)
    assert ear.heard == []
    assert chat.complete(request(HELLO), ear).text == ear.heard[-1] == "I cannot."


def test_who_wants_no_more_ends_the_generation(server: Standin, chat: OpenAiChat) -> None:
    server.script.append(replace(says("one two three four"), ending="stall"))
    ear = Ear(most=2)
    with pytest.raises(Unheard):
        chat.complete(request(HELLO), ear)
    assert ear.heard == ["one ", "one two "]
    assert server.asked == 1


def test_who_wants_no_more_wants_no_other_try(server: Standin) -> None:
    chat = OpenAiChat(
        openai.OpenAI(api_key=KEY, base_url=server.url), MODEL, pause=lambda _seconds: None
    )
    server.script += [streamed(chunk({"content": "Your cha"}), ending="drop"), says("Never heard.")]
    ear = Ear(most=1)
    with pytest.raises(Unheard):
        chat.complete(request(HELLO), ear)
    assert (ear.heard, server.asked) == (["Your cha"], 1)


def test_a_try_that_broke_off_is_heard_anew_and_nothing_twice(server: Standin) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=server.url)
    chat = OpenAiChat(client, MODEL, max_retries=4, pause=lambda _seconds: None)
    started, half = chunk({"role": "assistant", "content": ""}), chunk({"content": "Your cha"})
    server.script += [
        # The line drops; the stream ends without an end; the server says that it cannot go on.
        streamed(started, half, ending="drop"),
        streamed(started, half),
        streamed(started, half, {"error": {"message": "overloaded", "code": 503}}),
        says("Your order is here."),
    ]
    ear = Ear()
    assert chat.complete(request(HELLO), ear).text == "Your order is here."
    assert ear.heard == [
        # Each of the three as it came, and before the next try.
        *["Your cha"] * 6,
        "Your ",
        "Your order ",
        "Your order is ",
        "Your order is here.",
    ]
    server.script += [streamed(started, half)] * 5
    assert problem_of(chat) == "the model's server broke off its answer"
    assert server.asked == 9


def test_a_stream_that_never_ends_is_left_in_time_or_at_a_size(server: Standin) -> None:
    chat = open_ai_chat(KEY, server.url, MODEL, timeout_s=0.5, max_retries=5)
    server.script.append(streamed(chunk({"content": "Well"}), ending="stall"))
    ear = Ear()
    with pytest.raises(ModelUnavailable, match=r"no answer within 0\.5 s"):
        chat.complete(request(HELLO), ear)
    assert ear.heard == ["Well"]
    chat = open_ai_chat(KEY, server.url, MODEL, timeout_s=30, max_retries=5)
    server.script.append(streamed(*[": hold the line" * 70_000] * 4, "data: [DONE]"))
    assert "unreadable" in problem_of(chat)
    server.script.append(streamed("data: {no json}"))
    assert "unreadable" in problem_of(chat)
    assert server.asked == 3


def test_servers_that_stream_less_are_asked_in_their_manner(server: Standin) -> None:
    chat = open_ai_chat(KEY, server.url, MODEL, max_retries=0)
    # It does not know how to count in a stream; and then not how to stream at all.
    server.unknown_fields = {"stream_options", "max_completion_tokens"}
    server.script += [says("Hello."), says("Again.")]
    assert chat.complete(request(HELLO), Ear()).tokens_in == 0
    assert chat.complete(request(HELLO), Ear()).text == "Again."
    assert [sorted(set(b) & {"stream", "max_tokens"}) for b in server.bodies] == [
        ["max_tokens", "stream"]
    ] * 2
    assert server.asked == 4
    server.unknown_fields |= {"stream"}
    server.script += [says("Whole."), says("Whole again.")]
    ear = Ear()
    assert chat.complete(request(HELLO), ear).text == "Whole."
    assert chat.complete(request(HELLO), ear).text == "Whole again."
    assert (ear.heard, server.asked) == ([], 7)
    # One that asks for nothing and takes no notice of the wish.
    deaf = open_ai_chat(KEY, server.url, MODEL, max_retries=0)
    server.unknown_fields, server.knows_streams = set(), False
    server.script.append(says("In one piece."))
    assert deaf.complete(request(HELLO), ear).text == "In one piece."
    assert ear.heard == []


def called(*pieces: dict[str, object]) -> Reply:
    """Return a stream of pieces of calls."""
    chunks = [chunk({"tool_calls": [piece]}) for piece in pieces]
    return streamed(*chunks, chunk({}, "tool_calls"))


@pytest.mark.parametrize(
    "pieces",
    [
        # OpenAI names a call once; others repeat its id, have no index, or one index for all.
        [
            {"index": 0, "id": "a", "function": {"name": "look", "arguments": ""}},
            {"index": 1, "id": "b", "function": {"name": "tell", "arguments": "{"}},
            {"index": 0, "function": {"arguments": '{"x": 1}'}},
            {"index": 1, "function": {"arguments": "}"}},
        ],
        [
            {"id": "a", "function": {"name": "look", "arguments": '{"x"'}},
            {"id": "a", "function": {"arguments": ": 1}"}},
            {"id": "b", "function": {"name": "tell", "arguments": "{}"}},
        ],
        [
            {"index": 0, "id": "a", "function": {"name": "look", "arguments": {"x": 1}}},
            {"index": 0, "id": "b", "function": {"name": "tell", "arguments": "{}"}},
        ],
        [
            {"id": "a", "function": {"name": "look"}},
            {"function": {"arguments": '{"x": 1}'}},
            {"id": "b", "function": {"name": "tell", "arguments": "{}"}},
        ],
    ],
)
def test_calls_in_pieces_are_put_together_however_they_are_cut(
    server: Standin, chat: OpenAiChat, pieces: list[dict[str, object]]
) -> None:
    server.script.append(called(*pieces))
    assert chat.complete(request(HELLO)).calls == (
        ToolCall("a", "look", '{"x": 1}'),
        ToolCall("b", "tell", "{}"),
    )


def test_a_call_that_is_never_named_is_unreadable(server: Standin, chat: OpenAiChat) -> None:
    server.script.append(called({"index": 0, "function": {"arguments": "{}"}}))
    assert "unreadable" in problem_of(chat)


# ids from a small pool, so that they meet, repeat and miss each other
_IDS = st.sampled_from(["a", "b", "c", "d"])
_MADE = st.builds(ToolCall, _IDS, st.just("lookup_order"), st.just("{}"))
_MESSAGES = st.lists(
    st.one_of(
        st.builds(ChatMessage, st.sampled_from(["system", "user"]), st.text(max_size=3)),
        st.builds(
            ChatMessage,
            st.just("assistant"),
            st.sampled_from(["", "words"]),
            st.lists(_MADE, max_size=3).map(tuple),
        ),
        st.builds(ChatMessage, st.just("tool"), st.text(max_size=3), st.just(()), _IDS),
    ),
    max_size=12,
)


@given(_MESSAGES)
def test_any_transcript_is_put_into_an_order_that_servers_accept(
    messages: Sequence[ChatMessage],
) -> None:
    ordered = in_api_order(messages)
    assert order_problem([_message_json(message) for message in ordered]) is None


@given(_MESSAGES)
def test_ordering_keeps_all_words_and_is_done_once(messages: Sequence[ChatMessage]) -> None:
    ordered = in_api_order(messages)
    assert in_api_order(ordered) == ordered
    assert [(m.role, m.content) for m in ordered if m.role != "tool" and m.content] == [
        (m.role, m.content) for m in messages if m.role != "tool" and m.content
    ]


@given(_MESSAGES)
def test_ordering_invents_nothing(messages: Sequence[ChatMessage]) -> None:
    ordered = in_api_order(messages)
    results = [m for m in messages if m.role == "tool"]
    for message in ordered:
        assert message.role != "tool" or message in results
    assert len(ordered) <= len(messages)


@given(st.permutations([result(LOOKUP), result(STATUS), OUTCOME, HELLO]))
def test_results_that_came_late_keep_their_calls(behind: Sequence[ChatMessage]) -> None:
    ordered = in_api_order([SYSTEM, asks(LOOKUP, STATUS), *behind])
    assert ordered[1:4] == [asks(LOOKUP, STATUS), result(LOOKUP), result(STATUS)]
    assert sorted(m.role for m in ordered[4:]) == ["system", "user"]


def test_an_id_used_again_meets_the_latest_call() -> None:
    again = ToolCall("call_a", "list_orders", "{}")
    messages = [asks(LOOKUP), result(LOOKUP, "first"), asks(again), result(again, "second")]
    assert in_api_order(messages) == messages
    assert in_api_order([asks(LOOKUP), asks(again), result(again, "second")]) == messages[2:]
