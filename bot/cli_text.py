"""Words on a terminal: aligned, greppable, and nothing in them that cannot be seen."""

import json
from collections.abc import Iterable, Iterator, Sequence

from agent.domain.approvals import Approval, ApprovalView, Vote
from agent.domain.money import Money
from agent.domain.payload import Json
from bot.shapes import rfc3339

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


def describe(view: ApprovalView) -> str:
    """Return everything that a person needs to decide: each hashed field, whole."""
    approval = view.approval
    return pairs(
        [
            ("approval", approval.id),
            ("status", approval.status.value),
            ("run", approval.run_id),
            ("tool", approval.tool),
            *flatten("payload", approval.payload),
            ("hash", approval.payload_hash),
            ("policy", approval.policy_version),
            *_money(approval),
            *((f"reason {one.code.value}", one.text) for one in approval.findings),
            ("needs", needs(approval)),
            *(("vote", _vote(vote)) for vote in view.votes),
            ("customer", f"{view.customer_name} <{view.customer_email}> {approval.customer_id}"),
            *(("customer said", words) for words in view.customer_words),
            ("model", approval.model),
            ("model confidence", approval.confidence or "not stated"),
            ("model reason", approval.model_reason),
            ("created", rfc3339(approval.created_at)),
            ("expires", rfc3339(approval.expires_at)),
            *_aftermath(approval),
        ]
    )


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


def _money(approval: Approval) -> Iterator[tuple[str, str]]:
    amount, before = approval.amount, approval.snapshot
    if amount is None or before is None:
        return
    yield "amount", str(amount)
    if approval.original_amount not in {None, amount}:
        yield "model asked for", str(approval.original_amount)
    yield "order total", str(before.order_total)
    yield "order paid", str(before.captured)
    yield "order refunded", _change(before.refunded, before.refunded.plus(amount))
    yield "order left", _change(before.remaining, before.remaining.minus(amount))


def _change(before: Money, after: Money) -> str:
    return f"{before} -> {after}"


def _vote(vote: Vote) -> str:
    said = f"{vote.verdict} by {vote.actor_name} ({vote.channel}) at {rfc3339(vote.at)}"
    category = f" [{vote.category}]" if vote.category else ""
    reason = f": {vote.reason}" if vote.reason else ""
    note = f" (note: {vote.note})" if vote.note else ""
    return f"{said}{category}{reason}{note}"


def _aftermath(approval: Approval) -> Iterator[tuple[str, str]]:
    if approval.supersedes is not None:
        yield "supersedes", approval.supersedes
    if approval.superseded_by is not None:
        yield "superseded by", approval.superseded_by
    if approval.attempts:
        yield "attempts", str(approval.attempts)
    if approval.result is not None:
        yield from flatten("result", approval.result)


def _is_seen(char: str) -> bool:
    return char.isprintable() and char not in _BLANKS


def _written_out(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= _BMP_END else f"\\U{code:08x}"
