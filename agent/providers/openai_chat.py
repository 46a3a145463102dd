"""OpenAI's Chat Completions with tools, or any server that speaks it."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import openai
from pydantic import ValidationError
from typing_extensions import override

from agent.domain.conversation import ChatMessage, ToolCall
from agent.domain.errors import InvalidInput, ModelUnavailable
from agent.ports import ChatAnswer, ChatModel, ChatRequest, Hear, ToolSpec, unheard
from agent.providers.openai_stream import BrokeOff, Completion, Usage, WireCall, read_stream

DEFAULT_TIMEOUT_S = 30.0
DEFAULT_MAX_RETRIES = 2
MAX_OUTPUT_TOKENS = 4_096

_OPENAI_URL = "https://api.openai.com/v1"
# Far above what MAX_OUTPUT_TOKENS can fill; a server that never stops sending is cut off here. In
# a stream some 300 bytes go around each token.
_MAX_ANSWER_BYTES = 1024 * 1024
_MAX_STREAM_BYTES = 4 * _MAX_ANSWER_BYTES
_FIRST_BACK_OFF_S = 0.5
_LONGEST_BACK_OFF_S = 8.0
# The SDK hands on the transport's own errors while an answer's body is read.
_NO_CONNECTION = (openai.APIConnectionError, httpx2.TransportError)
_NO_ANSWER_IN_TIME = (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError)
_RETRIED = (*_NO_CONNECTION, BrokeOff, openai.RateLimitError, openai.InternalServerError)
# Older servers know the limit by its first name only; the newest models refuse that one.
_LIMIT, _OLD_LIMIT = "max_completion_tokens", "max_tokens"
_ABOUT_STREAM = re.compile(r"\bstream(ing)?\b", re.IGNORECASE)
_SAFE_CODE = re.compile(r"[a-z_]{1,40}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 64


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a server is asked: what it turned out not to take is left out from then on."""

    limit_field: str = _LIMIT
    streams: bool = True
    counts: bool = True

    def fields(self) -> dict[str, Any]:
        """Return what goes into the request beside the question itself."""
        fields: dict[str, Any] = {self.limit_field: MAX_OUTPUT_TOKENS}
        if self.streams:
            fields["stream"] = True
        if self.streams and self.counts:
            fields["stream_options"] = {"include_usage": True}
        return fields

    def without(self, error: openai.APIStatusError) -> "_Manner | None":
        """Return how to ask a server that refused this, None where it had another reason."""
        words = str(error.body)
        if self.streams and self.counts and "stream_options" in words:
            return replace(self, counts=False)
        if self.limit_field == _LIMIT and _LIMIT in words:
            return replace(self, limit_field=_OLD_LIMIT)
        # Some models are streamed to known organizations only.
        if self.streams and _ABOUT_STREAM.search(words):
            return replace(self, streams=False)
        return None


class OpenAiChat(ChatModel):
    """Chat Completions over the official SDK; `timeout_s` seconds are for the whole `complete`.

    The SDK limits each try, and between tries waits up to two minutes if a Retry-After says so. A
    turn holds a lease, so the tries are counted here instead and share one deadline; the client's
    own retries are off. Only a server that stalls in the middle of its answer can take longer, and
    never twice as long.
    """

    def __init__(
        self,
        client: openai.OpenAI,
        model: str,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        max_retries: int = DEFAULT_MAX_RETRIES,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client.with_options(max_retries=0)
        self._model = model
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._pause = pause
        self._manner = _Manner()

    @property
    @override
    def name(self) -> str:
        """Return the model's name as configured."""
        return self._model

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Ask the server; raises ModelUnavailable with words that hold no secret."""
        try:
            completion = self._ask(_body(self._model, request), hear)
        except openai.APIStatusError as error:
            # Not chained: servers like to repeat the key in a 401, and a traceback is logged.
            raise ModelUnavailable(_status_problem(error)) from None
        except _NO_ANSWER_IN_TIME:
            raise ModelUnavailable(f"no answer within {self._timeout_s:g} s") from None
        except _NO_CONNECTION:
            raise ModelUnavailable("the model's server could not be reached") from None
        except BrokeOff:
            raise ModelUnavailable("the model's server broke off its answer") from None
        except (openai.OpenAIError, httpx2.HTTPError, ValidationError):
            raise ModelUnavailable("the model's server sent something unreadable") from None
        return _answer(completion, request, self._model)

    def _ask(self, body: dict[str, Any], hear: Hear) -> Completion:
        deadline = time.monotonic() + self._timeout_s
        tried, heard = 0, ""

        def hearing(so_far: str) -> None:
            nonlocal heard
            heard = so_far
            hear(so_far)

        while True:
            try:
                return self._once(body, deadline, hearing)
            except _RETRIED as error:
                wait = _back_off(error, tried)
                if tried == self._max_retries or time.monotonic() + wait >= deadline:
                    raise
            tried += 1
            self._pause(wait)
            # Whoever wants no more of it wants no other try either.
            hear(heard)

    def _once(self, body: dict[str, Any], deadline: float, hear: Hear) -> Completion:
        while True:
            manner = self._manner
            try:
                return self._send(body | manner.fields(), deadline, hear)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                plainer = manner.without(error)
                if plainer is None:
                    raise
            self._manner = plainer

    def _send(self, body: dict[str, Any], deadline: float, hear: Hear) -> Completion:
        left = max(deadline - time.monotonic(), 0.001)
        create = self._client.chat.completions.with_streaming_response.create
        with create(**body, timeout=left) as response:
            # Some servers know nothing of streams and answer in one piece.
            if "text/event-stream" in response.headers.get("content-type", ""):
                chunks = _bounded(response.iter_bytes(), deadline, _MAX_STREAM_BYTES)
                return read_stream(chunks, hear)
            whole = b"".join(_bounded(response.iter_bytes(), deadline, _MAX_ANSWER_BYTES))
        return Completion.model_validate_json(whole)


def _bounded(chunks: Iterable[bytes], deadline: float, most: int) -> Iterator[bytes]:
    received = 0
    # Some servers send blanks to hold the line: each alone is in time, all are not.
    for chunk in chunks:
        received += len(chunk)
        if time.monotonic() >= deadline:
            raise TimeoutError
        if received > most:
            raise openai.OpenAIError("the answer is too long")
        yield chunk


def open_ai_chat(
    api_key: str,
    base_url: str,
    model: str,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    max_retries: int = DEFAULT_MAX_RETRIES,
) -> OpenAiChat:
    """Connect to a server; an empty `base_url` is OpenAI's, a server of one's own needs no key.

    Raises InvalidInput for a key that no HTTP header can carry.
    """
    if not api_key.isascii():
        raise InvalidInput("api_key", "only ASCII characters are possible")
    client = openai.OpenAI(
        # The SDK insists on a key; a server that wants none does not look at it.
        api_key=api_key or "none",
        base_url=base_url or _OPENAI_URL,
        timeout=timeout_s,
    )
    return OpenAiChat(client, model, timeout_s=timeout_s, max_retries=max_retries)


def models_of(
    api_key: str, base_url: str, timeout_s: float = DEFAULT_TIMEOUT_S
) -> frozenset[str] | None:
    """Return the names of the models that a server has, None where it answers but lists none.

    Nothing is generated. Raises ModelUnavailable where the server cannot be reached or asked.
    """
    client = openai.OpenAI(
        api_key=api_key or "none",
        base_url=base_url or _OPENAI_URL,
        timeout=timeout_s,
        max_retries=0,
    )
    try:
        return frozenset(model.id for model in client.models.list())
    except openai.NotFoundError:
        return None
    except openai.APIStatusError as error:
        raise ModelUnavailable(_status_problem(error)) from None
    except (*_NO_CONNECTION, *_NO_ANSWER_IN_TIME) as error:
        raise ModelUnavailable(f"the model's server is not reachable: {_cause(error)}") from None
    except (openai.OpenAIError, ValueError):
        return None


def _cause(error: Exception) -> str:
    return type(error.__cause__ or error).__name__


def in_api_order(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Put each tool result right behind the message that called for it.

    Servers refuse anything else. A result without its call is dropped, and so is a call without
    its result, and a message of which nothing is left then.
    """
    results = _pair_results(messages)
    ordered: list[ChatMessage] = []
    for place, message in enumerate(messages):
        if message.role == "tool":
            continue
        if message.role != "assistant" or not message.calls:
            ordered.append(message)
            continue
        calls = {c.call_id: c for c in reversed(message.calls) if (place, c.call_id) in results}
        kept = tuple(reversed(calls.values()))
        if kept or message.content.strip():
            ordered.append(replace(message, calls=kept))
            ordered += [results[place, call.call_id] for call in kept]
    return ordered


def _pair_results(messages: Sequence[ChatMessage]) -> dict[tuple[int, str], ChatMessage]:
    """Return the first result of each call; ids that a server uses again meet the latest call."""
    waiting: dict[str, int] = {}
    results: dict[tuple[int, str], ChatMessage] = {}
    for place, message in enumerate(messages):
        if message.role == "assistant":
            waiting.update(dict.fromkeys((call.call_id for call in message.calls), place))
        elif message.role == "tool" and message.call_id in waiting:
            results[waiting.pop(message.call_id), message.call_id] = message
    return results


def _body(model: str, request: ChatRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message_json(message) for message in in_api_order(request.messages)],
    }
    if request.tools:
        body["tools"] = [_tool_json(tool) for tool in request.tools]
    return body


def _tool_json(tool: ToolSpec) -> dict[str, object]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }


def _message_json(message: ChatMessage) -> dict[str, object]:
    content = _encodable(message.content)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": content}
    if message.calls and message.role == "assistant":
        calls = [_call_json(call) for call in message.calls]
        return {"role": "assistant", "content": content or None, "tool_calls": calls}
    return {"role": message.role, "content": content}


def _call_json(call: ToolCall) -> dict[str, object]:
    name = _NOT_IN_NAMES.sub("_", call.name)[:_MAX_NAME] or "_"
    function = {"name": name, "arguments": _arguments_json(call.arguments)}
    return {"id": call.call_id, "type": "function", "function": function}


def _arguments_json(raw: str) -> str:
    """Return arguments every server accepts: some parse them and refuse what is no JSON object."""
    text = _encodable(raw)
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed": text})


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _answer(completion: Completion, request: ChatRequest, asked: str) -> ChatAnswer:
    if not completion.choices:
        raise ModelUnavailable("the model gave no answer")
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        raise ModelUnavailable("the model's server filtered the answer")
    text = (choice.message.content or choice.message.refusal or "").strip()
    calls = _calls(choice.message.tool_calls or [], request.messages)
    if not text and not calls:
        raise ModelUnavailable("the model gave an empty answer")
    usage = completion.usage or Usage()
    return ChatAnswer(
        text=text,
        calls=calls,
        model=completion.model or asked,
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
    )


def _calls(found: Iterable[WireCall], messages: Sequence[ChatMessage]) -> tuple[ToolCall, ...]:
    """Return the calls with ids that are new to the transcript: some servers count from 0 again."""
    taken = {call.call_id for message in messages for call in message.calls}
    calls: list[ToolCall] = []
    for number, call in enumerate(found):
        call_id, again = call.id or f"call_{len(messages)}_{number}", 0
        while call_id in taken:
            again += 1
            call_id = f"call_{len(messages)}_{number}_{again}"
        taken.add(call_id)
        arguments = call.function.arguments or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        calls.append(ToolCall(call_id, call.function.name, arguments))
    return tuple(calls)


def _back_off(error: Exception, tried: int) -> float:
    """Return how many seconds to wait: what the server asks for, else 0.5, 1, 2, … up to 8."""
    own = min(_FIRST_BACK_OFF_S * 2.0**tried, _LONGEST_BACK_OFF_S)
    if not isinstance(error, openai.APIStatusError):
        return own
    asked = error.response.headers.get("retry-after", "")
    return float(asked) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", asked) else own


def _status_problem(error: openai.APIStatusError) -> str:
    code = error.code or ""
    detail = f" ({code})" if _SAFE_CODE.fullmatch(code) else ""
    return f"the model's server answered {error.status_code}{detail}"
