"""A local server that accepts of a Chat Completions request what OpenAI accepts, and no more."""

import json
import re
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from typing_extensions import override

KEY = "sk-standin-0123456789"
MODEL = "gpt-standin"
SERVED_MODEL = "gpt-standin-2026-11-01"

_FIELDS = {
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "stream",
    "stream_options",
}
_MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "tool_calls", "refusal", "name"},
    "tool": {"role", "content", "tool_call_id"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_CALL_ID = 40

JsonObject = dict[str, Any]
Ending = Literal["whole", "drop", "gone", "hang", "drip", "stall"]


@dataclass(frozen=True)
class Reply:
    """One scripted answer; `ending` tells how it leaves: whole, cut off, not at all, unending.

    `completion` is what the body says, where it says something: who asked for a stream gets it in
    pieces.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    ending: Ending = "whole"
    completion: JsonObject | None = None


def answer(message: JsonObject, *, finish: str = "stop", **more: object) -> Reply:
    """Return a completion with one choice."""
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": SERVED_MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "refusal": None, **message},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127},
    }
    completion |= more
    return Reply(body=json.dumps(completion).encode(), completion=completion)


def says(text: str) -> Reply:
    """Return an answer of words alone."""
    return answer({"content": text})


def calls(*wanted: tuple[str, str, str]) -> Reply:
    """Return an answer that calls tools: (id, name, raw arguments)."""
    made = [
        {"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in wanted
    ]
    return answer({"content": None, "tool_calls": made}, finish="tool_calls")


def streamed(*chunks: object, ending: Ending = "whole") -> Reply:
    """Return a stream of these chunks as they are; text goes out as it is written."""
    lines = [c if isinstance(c, str) else f"data: {json.dumps(c)}" for c in chunks]
    body = "".join(f"{line}\n\n" for line in lines).encode()
    return Reply(body=body, headers={"Content-Type": "text/event-stream"}, ending=ending)


def chunk(delta: JsonObject, finish: str | None = None, **more: object) -> JsonObject:
    """Return one chunk of a stream, as OpenAI words it."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": SERVED_MODEL,
        "choices": [choice],
        **more,
    }


def in_pieces(reply: Reply, *, counts: bool) -> Reply:
    """Return what OpenAI sends of a completion to somebody who asked for a stream.

    `counts` tells whether they asked for the usage, too.
    """
    completion = reply.completion
    if completion is None:
        return reply
    chunks: list[object] = []
    for choice in completion["choices"]:
        said = choice["message"]
        chunks.append(chunk({"role": "assistant", "content": "", "refusal": None}))
        for name in ("content", "refusal"):
            words = re.findall(r"\s*\S+\s*", said.get(name) or "")
            chunks += [chunk({name: word}) for word in words]
        for place, call in enumerate(said.get("tool_calls") or ()):
            chunks += [chunk({"tool_calls": [one]}) for one in _call_pieces(place, call)]
        chunks.append(chunk({}, choice["finish_reason"]))
    if counts:
        chunks.append({**chunk({}), "choices": [], "usage": completion["usage"]})
    # The model's name is not the usual one in every test.
    named = [{**one, "model": completion["model"]} for one in chunks if isinstance(one, dict)]
    return replace(streamed(*named, "data: [DONE]"), ending=reply.ending)


def _call_pieces(place: int, call: JsonObject) -> Iterator[JsonObject]:
    function = call["function"]
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        yield {"index": place, **call}
        return
    yield {"index": place, **call, "function": {**function, "arguments": ""}}
    half = len(arguments) // 2
    for part in (arguments[:half], arguments[half:]):
        yield {"index": place, "function": {"arguments": part}}


def error(status: int, code: str, message: str, **headers: str) -> Reply:
    """Return an error as OpenAI words it."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), named)


class Standin(ThreadingHTTPServer):
    """The server; `script` is answered from the front, `bodies` are the requests it accepted."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: deque[Reply] = deque()
        self.bodies: list[JsonObject] = []
        self.refused: list[str] = []
        self.asked = 0
        self.key: str | None = KEY
        self.unknown_fields: set[str] = set()
        self.knows_streams = True
        self.over = threading.Event()

    @property
    def url(self) -> str:
        """Return the base address for a client."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def reply_to(self, path: str, authorization: str, raw: bytes) -> Reply:
        """Return the refusal a request has earned, else the next scripted answer."""
        self.asked += 1
        if path != "/v1/chat/completions":
            return error(404, "unknown_url", f"Invalid URL (POST {path})")
        if self.key is not None and authorization != f"Bearer {self.key}":
            return error(401, "invalid_api_key", f"Incorrect API key provided: {authorization}")
        body = json.loads(raw)
        problem = request_problem(body, self.unknown_fields)
        if problem is not None:
            self.refused.append(problem)
            return error(400, "invalid_request_error", problem)
        if body["model"] != MODEL:
            return error(404, "model_not_found", "The model does not exist")
        self.bodies.append(body)
        reply = self.script.popleft()
        if not (body.get("stream") and self.knows_streams):
            return reply
        return in_pieces(reply, counts="stream_options" in body)


@contextmanager
def running_standin() -> Iterator[Standin]:
    """Serve until the block ends; answers that hang are let go then."""
    server = Standin()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def request_problem(body: object, unknown_fields: Sequence[str] | set[str] = ()) -> str | None:
    """Return why OpenAI would answer 400, None for an acceptable request."""
    if not isinstance(body, dict):
        return "We could not parse the JSON body of your request."
    strange = (set(body) - _FIELDS) | (set(body) & set(unknown_fields))
    if strange:
        return f"Unrecognized request argument supplied: {', '.join(sorted(strange))}"
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return "Invalid 'messages': empty array."
    limit = body.get("max_completion_tokens", body.get("max_tokens", 1))
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        return "Invalid 'max_completion_tokens': integer below minimum value."
    if not isinstance(body.get("stream", False), bool):
        return "Invalid type for 'stream': expected a boolean."
    options = body.get("stream_options")
    if options is not None and body.get("stream") is not True:
        return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    if options is not None and options not in ({"include_usage": True}, {"include_usage": False}):
        return "Invalid 'stream_options'."
    problems = [_message_problem(i, m) for i, m in enumerate(body["messages"])]
    problems += [_tools_problem(body.get("tools"))]
    return next((p for p in problems if p), None) or order_problem(body["messages"])


def order_problem(messages: Sequence[JsonObject]) -> str | None:
    """Return what is wrong with calls and their results, None when each call has one behind it."""
    open_calls: set[str] = set()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return (
                    f"Invalid parameter: messages[{place}] with role 'tool' must be a response to "
                    "a preceding message with 'tool_calls'."
                )
            open_calls.discard(message["tool_call_id"])
            continue
        if open_calls:
            break
        ids = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(ids)) != len(ids):
            return f"Duplicate tool call ids in messages[{place}]."
        open_calls = set(ids)
    if open_calls:
        return (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            f"to each 'tool_call_id'. These had no response: {', '.join(sorted(open_calls))}"
        )
    return None


def _message_problem(place: int, message: object) -> str | None:
    where = f"messages[{place}]"
    if not isinstance(message, dict) or message.get("role") not in _MESSAGE_FIELDS:
        return f"Invalid value for {where}.role."
    role = message["role"]
    strange = set(message) - _MESSAGE_FIELDS[role]
    if strange:
        return f"Unknown parameter: '{where}.{sorted(strange)[0]}'."
    content, made = message.get("content"), message.get("tool_calls")
    if made is not None and (not isinstance(made, list) or not made):
        return f"Invalid '{where}.tool_calls': empty array."
    if content is None and not (role == "assistant" and made):
        return f"Invalid value for '{where}.content': expected a string, got null."
    if content is not None and not isinstance(content, str):
        return f"Invalid type for '{where}.content'."
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        return f"Missing parameter '{where}.tool_call_id'."
    return next((p for call in made or () if (p := _call_problem(where, call))), None)


def _call_problem(where: str, call: object) -> str | None:
    if not isinstance(call, dict) or set(call) != {"id", "type", "function"}:
        return f"Invalid tool call in {where}."
    function = call["function"]
    if call["type"] != "function" or set(function) != {"name", "arguments"}:
        return f"Invalid function in {where}."
    if not isinstance(call["id"], str) or not 0 < len(call["id"]) <= _MAX_CALL_ID:
        return f"Invalid '{where}.tool_calls.id': string too long or empty."
    if not _NAME.fullmatch(str(function["name"])):
        return f"Invalid '{where}.tool_calls.function.name': does not match the pattern."
    if not isinstance(function["arguments"], str):
        return f"Invalid type for '{where}.tool_calls.function.arguments'."
    return None


def _tools_problem(tools: object) -> str | None:
    if tools is None:
        return None
    if not isinstance(tools, list) or not tools:
        return "Invalid 'tools': empty array."
    for place, tool in enumerate(tools):
        if not isinstance(tool, dict) or set(tool) != {"type", "function"}:
            return f"Invalid tools[{place}]."
        function = tool["function"]
        if set(function) - {"name", "description", "parameters", "strict"}:
            return f"Unknown parameter in tools[{place}].function."
        if not _NAME.fullmatch(str(function.get("name"))):
            return f"Invalid 'tools[{place}].function.name'."
        schema = function.get("parameters")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return f"Invalid schema for function '{function['name']}': type must be 'object'."
        if not isinstance(schema.get("properties"), dict):
            return f"Invalid schema for function '{function['name']}': object without properties."
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Standin

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        reply = self.server.reply_to(self.path, self.headers.get("Authorization", ""), raw)
        try:
            self._send(reply)
        except ConnectionError:
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        if reply.ending == "hang":
            self.server.over.wait()
        if reply.ending in {"gone", "hang"}:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        missing = 0 if reply.ending == "whole" else 1_000_000
        self.send_header("Content-Length", str(len(reply.body) + missing))
        self.end_headers()
        for event in re.findall(rb".+?\n\n|.+", reply.body, re.DOTALL):
            self.wfile.write(event)
        if reply.ending == "stall":
            self.server.over.wait()
        while reply.ending == "drip" and not self.server.over.wait(0.02):
            self.wfile.write(b"\n")
        self.close_connection = reply.ending != "whole"

    @override
    def log_message(self, format: str, *_args: object) -> None:
        """Keep the test's output to the test."""
