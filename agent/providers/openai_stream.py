"""An answer of Chat Completions that comes in pieces, put together as if it had come whole."""

import json
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, Field

from agent.domain.errors import DeskError
from agent.ports import Hear


class BrokeOff(DeskError):
    """The server ended its answer before the end, or said in the middle that it cannot go on."""


class WireFunction(BaseModel):
    """What a call calls."""

    name: str
    arguments: str | dict[str, object] | None = None


class WireCall(BaseModel):
    """One call of a tool."""

    id: str | None = None
    function: WireFunction


class WireMessage(BaseModel):
    """What the model said."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: list[WireCall] | None = None


class WireChoice(BaseModel):
    """One of the answers; the first is used."""

    message: WireMessage
    finish_reason: str | None = None


class Usage(BaseModel):
    """What the answer cost, in tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Completion(BaseModel):
    """The part of an answer that is used; compatible servers leave out much of the rest."""

    choices: list[WireChoice] = []
    model: str | None = None
    usage: Usage | None = None


class _FunctionPiece(BaseModel):
    name: str | None = None
    arguments: str | dict[str, object] | None = None


class _CallPiece(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _FunctionPiece = Field(default_factory=_FunctionPiece)


class _Delta(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None


class _ChoicePiece(BaseModel):
    index: int = 0
    delta: _Delta = Field(default_factory=_Delta)
    finish_reason: str | None = None


class _Piece(BaseModel):
    choices: list[_ChoicePiece] = []
    model: str | None = None
    usage: Usage | None = None
    error: object = None


class _Calls:
    """Calls in the making.

    OpenAI names a call in its first piece and then counts on `index`; others repeat the id, leave
    out the index, or give every call the index 0.
    """

    def __init__(self) -> None:
        self._calls: list[_CallPiece] = []
        self._by_id: dict[str, _CallPiece] = {}
        self._by_index: dict[int, _CallPiece] = {}

    def add(self, piece: _CallPiece) -> None:
        call = self._of(piece)
        if call is None:
            self._begin(piece)
            return
        call.function.name = call.function.name or piece.function.name
        more, so_far = _text(piece.function.arguments), _text(call.function.arguments)
        call.function.arguments = so_far + more

    def _of(self, piece: _CallPiece) -> _CallPiece | None:
        """Return the call that a piece goes on with, None where it begins one."""
        if piece.id:
            return self._by_id.get(piece.id)
        if piece.index is not None:
            return self._by_index.get(piece.index)
        return self._calls[-1] if self._calls and piece.function.name is None else None

    def _begin(self, piece: _CallPiece) -> None:
        self._calls.append(piece)
        if piece.id:
            self._by_id[piece.id] = piece
        if piece.index is not None:
            self._by_index[piece.index] = piece

    def whole(self) -> list[object]:
        return [call.model_dump() for call in self._calls]


def read_stream(chunks: Iterable[bytes], hear: Hear) -> Completion:
    """Read a stream of server-sent events to its end and let the words be heard while they come.

    Raises BrokeOff where it has no end, ValidationError where it cannot be read, and what `hear`
    raises.
    """
    said, refusal, calls = "", "", _Calls()
    finish: str | None = None
    whole = Completion()
    for data in _datas(chunks):
        if data == b"[DONE]":
            return _completion(whole, said, refusal, calls, finish or "stop")
        piece = _Piece.model_validate_json(data)
        if piece.error is not None:
            raise BrokeOff
        whole.model, whole.usage = piece.model or whole.model, piece.usage or whole.usage
        for choice in (one for one in piece.choices if one.index == 0):
            finish = choice.finish_reason or finish
            said += choice.delta.content or ""
            refusal += choice.delta.refusal or ""
            for call in choice.delta.tool_calls or ():
                calls.add(call)
            if choice.delta.content or choice.delta.refusal:
                hear(said or refusal)
    # Not every server says [DONE], but all say why they ended.
    if finish is None:
        raise BrokeOff
    return _completion(whole, said, refusal, calls, finish)


def _completion(
    whole: Completion, said: str, refusal: str, calls: _Calls, finish: str
) -> Completion:
    message = WireMessage.model_validate(
        {"content": said or None, "refusal": refusal or None, "tool_calls": calls.whole()}
    )
    choice = WireChoice(message=message, finish_reason=finish)
    return Completion(choices=[choice], model=whole.model, usage=whole.usage)


def _datas(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what each event carries; comments and other fields say nothing of the answer."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").strip()


def _text(arguments: str | dict[str, object] | None) -> str:
    return json.dumps(arguments) if isinstance(arguments, dict) else arguments or ""
