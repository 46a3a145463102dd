"""The policy file as people write it: read strictly, and each fault shown with its line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import get_args

import yaml
from pydantic import BaseModel, ValidationError
from typing_extensions import override

from agent.domain.errors import InvalidInput
from agent.domain.policy import Policy

_NAME = "POLICY_FILE"
# Far more than any policy, far less than what fills the memory when the path is a device.
_MAX_BYTES = 1024 * 1024
_MAX_FAULTS = 10
# What Python's own constructors raise for a scalar that only looks like a date or a number.
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A parsed policy file, with the tree that knows on which line each entry stands."""

    path: Path
    content: dict[str, object]
    root: yaml.MappingNode

    def refusal(
        self, document: Mapping[str, object], wrong: InvalidInput, names: Mapping[str, str]
    ) -> InvalidInput:
        """Return the error that names every fault of a policy that `read_policy` refused.

        `document` is the content with what the environment changed in it; `names` tells by
        entry which variable changed it. Such a fault has the variable's name and no line.
        """
        faults = sorted(
            _faults(document, wrong), key=lambda one: (one.entry in names, self.line(one.entry))
        )
        told = [self._told(fault, names) for fault in faults[:_MAX_FAULTS]]
        if len(faults) > _MAX_FAULTS:
            told.append((_NAME, f"and {len(faults) - _MAX_FAULTS} more"))
        (field, first), *others = told
        rest = [text if name == _NAME else f"{name}: {text}" for name, text in others]
        where = f"{self.path}, " if field == _NAME else ""
        return InvalidInput(field, "; ".join([f"{where}{first}", *rest]))

    def line(self, entry: str) -> int:
        """Return the line, from 1, of a dotted entry, or of the nearest one around it."""
        node: yaml.Node = self.root
        line, rest = node.start_mark.line, entry
        while rest:
            inner = _inner(node, rest)
            if inner is None:
                break
            line, node, rest = inner
        return line + 1

    def value(self, entry: str) -> object:
        """Return what the file itself says at a dotted entry; None where it says nothing."""
        found: object = self.content
        for part in entry.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def _told(self, fault: "_Fault", names: Mapping[str, str]) -> tuple[str, str]:
        said = f"{fault.entry}: {fault.problem}"
        name = names.get(fault.entry)
        return (_NAME, f"line {self.line(fault.entry)}: {said}") if name is None else (name, said)


@dataclass(frozen=True, slots=True)
class _Fault:
    entry: str
    problem: str


class _Loader(yaml.SafeLoader):
    """YAML without tags that run code; a scalar that cannot be read is shown with its place."""

    @override
    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except _UNREADABLE as error:
            raise yaml.constructor.ConstructorError(
                problem=f"cannot be read: {error}", problem_mark=node.start_mark
            ) from error


def read_policy_file(path: Path) -> PolicyFile:
    """Read a file as YAML; raises InvalidInput of POLICY_FILE with file, line and reason."""
    text = _text(path)
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise InvalidInput(_NAME, f"{path} holds no entries: {_kind(root)}")
        _refuse_repeats(root)
        content = loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        said = " ".join(part for part in (error.context, error.problem) if part)
        raise InvalidInput(_NAME, f"{path}, line {line}: {said}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidInput(_NAME, f"{path}, line {line}: is not YAML: {error.reason}") from error
    except RecursionError as error:
        raise InvalidInput(_NAME, f"{path} is nested too deeply") from error
    return PolicyFile(path, content, root)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(_NAME, f"{path} cannot be read: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise InvalidInput(_NAME, f"{path} is larger than {_MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"is not YAML in UTF-8 (byte 0x{content[error.start]:02x})"
        raise InvalidInput(_NAME, f"{path}, line {line}: {problem}") from error


def _kind(root: yaml.Node | None) -> str:
    if root is None:
        return "it is empty"
    kind = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
    return f"{kind} stands where `name: value` belongs"


def _refuse_repeats(root: yaml.Node) -> None:
    """Refuse a key that stands twice in one mapping; YAML's readers keep the last silently."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        # An alias is the same node again, and may even lead back to where it stands.
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            _refuse_twice(node)
            waiting += [value for _, value in node.value]


def _refuse_twice(node: yaml.MappingNode) -> None:
    lines: dict[str, int] = {}
    for key, _ in node.value:
        name, mark = str(key.value), key.start_mark
        if name in lines:
            raise yaml.constructor.ConstructorError(
                problem=f"the key {name!r} appears twice, first on line {lines[name]}",
                problem_mark=mark,
            )
        lines[name] = mark.line + 1


def _inner(node: yaml.Node, rest: str) -> tuple[int, yaml.Node, str] | None:
    """Return line and value of the entry of `node` that `rest` begins with, and what remains.

    A name may hold dots itself, so the longest that fits counts; of a merged mapping the last.
    """
    if isinstance(node, yaml.MappingNode):
        fitting = [
            (len(key.value), number, key, value)
            for number, (key, value) in enumerate(node.value)
            if isinstance(key, yaml.ScalarNode) and f"{rest}.".startswith(f"{key.value}.")
        ]
        if not fitting:
            return None
        length, _, key, value = max(fitting, key=lambda found: found[:2])
        return key.start_mark.line, value, rest[length + 1 :]
    part, _, remains = rest.partition(".")
    if isinstance(node, yaml.SequenceNode) and part.isdecimal() and int(part) < len(node.value):
        item: yaml.Node = node.value[int(part)]
        return item.start_mark.line, item, remains
    return None


def _faults(document: Mapping[str, object], wrong: InvalidInput) -> Iterator[_Fault]:
    """Yield all that the shape of the policy forbids, or the one thing that is wrong beyond it."""
    try:
        Policy.model_validate(dict(document))
    except ValidationError as error:
        for one in error.errors():
            place = one["loc"]
            entry = ".".join(str(part) for part in place if part != "[key]")
            yield _Fault(entry or "policy", _problem(one["type"], one["msg"], place, one["input"]))
    else:
        yield _Fault(wrong.field, wrong.problem)


def _problem(kind: str, said: str, place: tuple[int | str, ...], value: object) -> str:
    match kind:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return _unknown(place)
        case "string_type" if isinstance(value, int | float):
            return f"is text: put it in quotes, as in {str(value)!r}"
        case "string_pattern_mismatch":
            return f"{str(value)[:40]!r} is not a plain decimal number such as 0.90"
        case _:
            told = said.removeprefix("Value error, ")
            return f"{told[:1].lower()}{told[1:]}"


def _unknown(place: tuple[int | str, ...]) -> str:
    known = _names(place[:-1])
    near = get_close_matches(str(place[-1]), known, n=1)
    meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"there is no such entry; {meant}"


def _names(place: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the names of the entries that a section of the policy has."""
    shape: object = Policy
    for part in place:
        model = _model(shape)
        shape = get_args(shape)[-1] if model is None else model.model_fields[str(part)].annotation
    model = _model(shape)
    return () if model is None else tuple(model.model_fields)


def _model(shape: object) -> type[BaseModel] | None:
    return shape if isinstance(shape, type) and issubclass(shape, BaseModel) else None
