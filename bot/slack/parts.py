"""The parts of a card that show a request in full; the modals show the same parts."""

import json
from collections.abc import Iterator, Mapping

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.domain.ids import ActorId
from agent.domain.money import Money
from agent.domain.payload import Json
from agent.tools.registry import TOOLS
from bot.slack.blocks import (
    Block,
    bullets,
    code_block,
    context,
    line,
    lines,
    mention,
    moment_token,
    ours,
    plain,
    quote,
    rich,
    table,
    utc,
    word,
)
from bot.slack.states import progress_words, tier_words
from bot.slack.text import NO_LIMIT, clip, escape, visible

People = Mapping[ActorId, str]

_FIELD_LIMIT = 1_900
_BRIEF_FINDINGS = 6
_MODEL_LIMIT = 200


def facts(view: ApprovalView) -> list[tuple[str, str]]:
    """Return who and what at a glance: at most ten labelled values of one line each."""
    approval = view.approval
    customer = view.customer_name or f"{approval.customer_id} (unknown to the shop)"
    pairs = [
        ("Customer", customer),
        ("Order", approval.order_id or "-"),
        ("Requested", utc(approval.created_at)),
        ("Approvals", progress_words(view)),
    ]
    return [(label, clip(visible(value), _FIELD_LIMIT)) for label, value in pairs]


def difference(approval: Approval, people: People) -> Block | None:
    """Return what people changed of the agent's proposal, None if nobody did."""
    if approval.supersedes is None or approval.original_amount is None:
        return None
    by = [mention(people.get(actor), "a colleague") for actor in approval.edited_by[-1:]]
    return rich(
        line(
            word("Edited", "bold"),
            *([word(" by "), *by] if by else []),
            word(": amount "),
            word(str(approval.original_amount), "strike"),
            word(" → "),
            word(str(approval.amount), "bold"),
        )
    )


def reasons(approval: Approval, limit: int = NO_LIMIT) -> Block:
    """Return why people decide: each finding in words with its rule, impact and policy.

    With a `limit` the texts are cut to it, and so is their number.
    """
    most = len(approval.findings) if limit == NO_LIMIT else _BRIEF_FINDINGS
    found = [
        line(word(f"{clip(visible(f.text), limit)}  "), word(f.code.value, "code"))
        for f in approval.findings[:most]
    ]
    if len(approval.findings) > most:
        found.append(line(word(f"… and {len(approval.findings) - most} more", "italic")))
    waiting = approval.status is Status.PENDING
    heading = word("Why it waits" if waiting else "Why it waited", "bold")
    policy = [*_impact(approval), word(f"The policy asks for {tier_words(approval.tier)}.")]
    if not found:
        return rich(lines([heading], policy))
    return rich(line(heading), bullets(*found), line(*policy))


def words(view: ApprovalView, limit: int = NO_LIMIT) -> list[Block]:
    """Return what the customer wrote and what the agent says, marked as theirs."""
    said: list[Block] = []
    for text in view.customer_words:
        # Slack draws neighbouring quotations as one.
        said += [line(word("and then", "italic"))] if said else []
        said.append(quote(clip(visible(text, lines=True), limit)))
    customer = [rich(line(word("The customer wrote", "bold")), *said)] if said else []
    approval = view.approval
    reason = clip(visible(approval.model_reason, lines=True), limit)
    return [*customer, rich(agent_heading(approval), quote(reason))]


def agent_heading(approval: Approval) -> Block:
    """Return the line that marks what follows as the agent's own words."""
    sure = (
        "no confidence stated"
        if approval.confidence is None
        else f"confidence {visible(approval.confidence)}"
    )
    return line(
        word("The agent says", "bold"),
        word(f" · its own words, not checked · {sure}", "italic"),
    )


def money(approval: Approval, *, classic: bool) -> Block | None:
    """Return the order's money before and after this refund; `classic` does without a table."""
    rows = _money_rows(approval)
    if rows is None:
        return None
    if not classic:
        return table(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return rich(code_block("\n".join(lines)))


def payload_text(approval: Approval) -> str:
    """Return everything the hash binds, one field a line, each value as JSON."""
    bound = [
        ("tool", approval.tool),
        ("approval_id", approval.id),
        ("policy_version", approval.policy_version),
    ]
    own = [(visible(name), _json(value)) for name, value in _leaves("", approval.payload)]
    rows = [*own, *((name, _json(value)) for name, value in bound)]
    width = min(max(len(name) for name, _ in rows), 32)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def payload(approval: Approval) -> Block:
    """Return the full canonical payload as fixed-width text."""
    return rich(line(word("The exact request", "bold")), code_block(payload_text(approval)))


def small_print(approval: Approval) -> Block:
    """Return ids, hash, policy, model, and the deadline in the reader's time zone."""
    ids = (
        f"`{escape(approval.id)}` · rev {approval.revision} · sha256 `{approval.short_hash()}`"
        f" · policy `{escape(approval.policy_version)}`"
    )
    model = plain(clip(visible(f"model {approval.model}"), _MODEL_LIMIT))
    until = "⏳ Decide by" if approval.status is Status.PENDING else "Deadline was"
    return context(ours(f"{until} {moment_token(approval.expires_at)}"), ours(ids), model)


def _impact(approval: Approval) -> list[Block]:
    tool = TOOLS.get(approval.tool)
    if tool is None:
        return []
    undo = {"no": "cannot be undone", "in part": "can be undone in part", "yes": "can be undone"}
    return [word(f"{tool.impact.capitalize()} impact, {undo[tool.reversible]}. ")]


def _money_rows(approval: Approval) -> list[list[str]] | None:
    before, amount = approval.snapshot, approval.amount
    if before is None or amount is None or amount.currency != before.remaining.currency:
        return None

    def row(label: str, now: Money, after: Money) -> list[str]:
        return [label, now.plain(grouped=True), after.plain(grouped=True)]

    paid = (
        []
        if before.captured == before.order_total
        else [row("Paid by the customer", before.captured, before.captured)]
    )
    return [
        [amount.currency, "Before", "After refund"],
        row("Order total", before.order_total, before.order_total),
        *paid,
        row("Refunded", before.refunded, before.refunded.plus(amount)),
        row("Left to refund", before.remaining, before.remaining.minus(amount)),
    ]


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    match value:
        case dict() if value:
            for name, item in value.items():
                yield from _leaves(f"{path}.{name}" if path else name, item)
        case list() if value:
            for index, item in enumerate(value):
                yield from _leaves(f"{path}[{index}]", item)
        case _:
            yield path, value


def _json(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
