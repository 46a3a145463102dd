"""Words on a terminal: aligned, greppable, and nothing in them that cannot be seen."""

import json
from collections.abc import Iterable, Iterator, Sequence

from agent.domain.approvals import Approval
from agent.domain.payload import Json

# Letters and marks that draw nothing although Python takes them for printable.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_BMP_END = 0xFFFF
_GAP = "  "


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return the text with every character that cannot be seen written out, e.g. `\u202e`.

    With `lines` a line feed stays a line feed; without it the result is one line.
    """
    return "".join(
        char if _is_seen(char) or (lines and char == "\n") else _written_out(char) for char in text
    )


def json_text(value: object) -> str:
    """Return JSON for people and programs; what cannot be seen is escaped as JSON does it."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(
        char if _is_seen(char) or char == "\n" else json.dumps(char)[1:-1] for char in text
    )


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return aligned columns, the last one ragged; an empty cell shows as `-`."""
    cells = [[str(name) for name in header]]
    cells += [[visible(str(cell)) or "-" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def pairs(rows: Iterable[tuple[str, object]]) -> str:
    """Return one `name  value` a line, the values aligned."""
    shown = [(visible(name), visible(str(value))) for name, value in rows]
    width = max((len(name) for name, _ in shown), default=0)
    return "\n".join(f"{name.ljust(width)}{_GAP}{value}".rstrip() for name, value in shown)


def flatten(name: str, value: Json) -> Iterator[tuple[str, str]]:
    """Yield a JSON value leaf by leaf, e.g. `payload.amount.minor` and `16000`."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flatten(f"{name}.{key}", inner)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from flatten(f"{name}[{index}]", inner)
    else:
        yield name, json.dumps(value, ensure_ascii=False)


def needs(approval: Approval) -> str:
    """Return who has to decide, e.g. `1 x refund_approver`."""
    return f"{approval.tier.approvals_needed} x {approval.tier.role.value}"


def _is_seen(char: str) -> bool:
    return char.isprintable() and char not in _BLANKS


def _written_out(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= _BMP_END else f"\\U{code:08x}"
