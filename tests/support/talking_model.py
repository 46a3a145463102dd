"""A local model server that answers by what the customer wrote, at the pace that a test lets it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

from tests.support.outside import PATIENCE_S

KEY, MODEL = "sk-talking-0123456789", "gpt-talking"
ASKED, PASSED_ON = "It needs a quick review by our team.", "Somebody will be with you."

JsonObject = dict[str, Any]


class Steps:
    """How many words may be said: each is waited for by one answer, and taken by it."""

    def __init__(self) -> None:
        self._left = 0
        self._over = 0
        self._changed = threading.Condition()

    @property
    def over(self) -> int:
        """How often all that was under way was ended."""
        return self._over

    def release(self, number: int = 1) -> None:
        """Let so many words be said."""
        with self._changed:
            self._left += number
            self._changed.notify_all()

    def take(self, over: int) -> bool:
        """Wait for a word; False for an answer begun before the latest end, or of no use any more.

        `over` is the one that was read when the answer began.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._left > 0 or self._over > over, PATIENCE_S)
            if self._left == 0 or self._over > over:
                return False
            self._left -= 1
            return True

    def end(self) -> None:
        """End every answer that is under way, and take back what nobody has used."""
        with self._changed:
            self._left = 0
            self._over += 1
            self._changed.notify_all()


class TalkingModel(ThreadingHTTPServer):
    """Understands four sentences, and repeats every other.

    - `REFUND <order> <amount> <currency>` proposes a refund.
    - `SLOWLY <words>` says one word after the other, each as the test lets it: `steps.release()`.
    - `ECHO <anything>` says just that.
    - `PERSON <reason>` hands the conversation to the team.

    `asked` counts the requests, `spoken` the words of slow answers that have left.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps = Steps()
        self.asked = 0
        self.spoken = 0

    @property
    def env(self) -> dict[str, str]:
        """Return the settings with which a desk asks this model."""
        url = f"http://127.0.0.1:{self.server_port}/v1"
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url, "OPENAI_MODEL": MODEL}

    @override
    def handle_error(self, request: object, _client: object) -> None:
        """Say nothing of desks that hang up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TalkingModel

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked += 1
        asked = json.loads(raw)
        message = _answer(asked["messages"])
        if not asked.get("stream"):
            self._whole(message)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(OSError):
            self._stream(message)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _whole(self, message: JsonObject) -> None:
        if "slowly" in message:
            words, over = message.pop("slowly"), self.server.steps.over
            for _ in words:
                self.server.steps.take(over)
            message["content"] = " ".join(words)
        body = json.dumps(_completion("chat.completion", message=message)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, message: JsonObject) -> None:
        words = message.pop("slowly", None)
        if words is None:
            calls = [{"index": i, **call} for i, call in enumerate(message.pop("tool_calls", ()))]
            self._say({**message, **({"tool_calls": calls} if calls else {})})
            self._end("tool_calls" if calls else "stop")
            return
        over = self.server.steps.over
        self._say({"role": "assistant", "content": ""})
        for number, word in enumerate(words):
            if not self.server.steps.take(over):
                return
            self._say({"content": word if number == 0 else f" {word}"})
            self.server.spoken += 1
        self._end("stop")

    def _say(self, delta: JsonObject) -> None:
        self._chunk(_completion("chat.completion.chunk", delta=delta))

    def _end(self, finish: str) -> None:
        self._chunk(_completion("chat.completion.chunk", delta={}, finish_reason=finish))
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, chunk: JsonObject) -> None:
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()


def _completion(kind: str, **choice: object) -> JsonObject:
    message = choice.get("message")
    calls = isinstance(message, dict) and message.get("tool_calls")
    finish = ("tool_calls" if calls else "stop") if message else None
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1_790_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": finish, **choice}],
    }


def _answer(messages: list[JsonObject]) -> JsonObject:
    last = messages[-1]
    if last["role"] == "tool":
        is_passed_on = messages[-2]["tool_calls"][0]["function"]["name"] == "hand_off"
        return {"role": "assistant", "content": PASSED_ON if is_passed_on else ASKED}
    if last["role"] == "system":
        return {"role": "assistant", "content": "That is settled now."}
    word, _, rest = str(last["content"]).partition(" ")
    match word:
        case "REFUND":
            return {"role": "assistant", "content": None, "tool_calls": [_refund(rest, messages)]}
        case "SLOWLY":
            return {"role": "assistant", "slowly": rest.split()}
        case "PERSON":
            call = _call("hand_off", {"reason": rest}, messages)
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        case "ECHO":
            return {"role": "assistant", "content": rest}
        case _:
            return {"role": "assistant", "content": f"You said: {last['content']}"}


def _refund(words: str, messages: list[JsonObject]) -> JsonObject:
    order_id, amount, currency = words.split()
    arguments = {
        "order_id": order_id,
        "amount": amount,
        "currency": currency,
        "scope": "partial",
        "reason": "It arrived broken.",
        "confidence": "0.97",
    }
    return _call("issue_refund", arguments, messages)


def _call(tool: str, arguments: JsonObject, messages: list[JsonObject]) -> JsonObject:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"id": f"call_{len(messages)}", "type": "function", "function": function}


@contextmanager
def talking_model() -> Iterator[TalkingModel]:
    """Serve until the block ends."""
    server = TalkingModel()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.steps.end()
        server.shutdown()
        server.server_close()
        thread.join()
