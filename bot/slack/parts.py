"""The parts of a card that show a request in full; the modals show the same parts."""

import json
from collections.abc import Iterator, Mapping

from agent.domain.approvals import Approval, ApprovalView, Status, amount_of
from agent.domain.ids import ActorId
from agent.domain.money import Money
from agent.domain.payload import Json
from agent.tools.effects import order_of
from agent.tools.levels import weigh
from bot.slack import emails, flags
from bot.slack.blocks import (
    Block,
    Row,
    bullets,
    changed,
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
from bot.slack.proposals import email_of, flag_of, read_email
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
        ("Allowed by", "the policy") if approval.automatic else ("Approvals", progress_words(view)),
    ]
    return [(label, clip(visible(value), _FIELD_LIMIT)) for label, value in pairs]


def difference(approval: Approval, people: People, limit: int = NO_LIMIT) -> Block | None:
    """Return what people changed of the agent's proposal, before and after; None if nobody did.

    With a `limit` each text is cut to it.
    """
    if not approval.is_edited:
        return None
    editors = [
        [word(", " if number else " by "), mention(people.get(actor), "a colleague")]
        for number, actor in enumerate(dict.fromkeys(approval.edited_by))
    ]
    heading = [word("Edited", "bold"), *(part for editor in editors for part in editor)]
    rows, below = _changes(approval, limit)
    if not rows:
        heading.append(word(": it is again what the agent proposed"))
    return rich(lines(heading, *rows), *below)


def level(approval: Approval) -> Row:
    """Return the level and the facts behind it as one row of a rich text."""
    weighed = weigh(approval)
    return [word(f"Level {weighed.level}", "bold"), word(f" · {' · '.join(weighed.facts)}")]


def reasons(approval: Approval, limit: int = NO_LIMIT) -> Block:
    """Return the level, and why people decide: each finding in words with its rule, and who.

    With a `limit` the texts are cut to it, and so is their number. Of what the policy allowed
    without a person there is the level alone.
    """
    if approval.automatic:
        return rich(line(*level(approval)))
    most = len(approval.findings) if limit == NO_LIMIT else _BRIEF_FINDINGS
    found = [
        line(word(f"{clip(visible(f.text), limit)}  "), word(f.code.value, "code"))
        for f in approval.findings[:most]
    ]
    if len(approval.findings) > most:
        found.append(line(word(f"… and {len(approval.findings) - most} more", "italic")))
    waiting = approval.status is Status.PENDING
    heading = word("Why it waits" if waiting else "Why it waited", "bold")
    policy = word(f"The policy asks for {tier_words(approval.tier)}.")
    if not found:
        return rich(lines(level(approval), [], [heading], [policy]))
    return rich(lines(level(approval), [], [heading]), bullets(*found), line(policy))


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


def substance(view: ApprovalView, *, classic: bool, limit: int = NO_LIMIT) -> list[Block]:
    """Return what the request is about, by tool: the order's money, the e-mail, or the flag.

    Nothing is cut without a `limit`; with one, the money is left out and texts are cut to it.
    """
    approval = view.approval
    email, flag = email_of(approval), flag_of(approval)
    if email is not None:
        return emails.blocks(approval, email, view.customer_email, limit)
    if flag is not None:
        return [flags.block(flag, limit)]
    table_or_text = money(approval, classic=classic) if limit == NO_LIMIT else None
    return [] if table_or_text is None else [table_or_text]


def payload_text(approval: Approval, besides: frozenset[str] = frozenset()) -> str:
    """Return everything the hash binds, one field a line, each value as JSON.

    Fields named in `besides` are left out: what shows them must show them whole.
    """
    bound = [
        ("tool", approval.tool),
        ("approval_id", approval.id),
        ("policy_version", approval.policy_version),
    ]
    shown = {name: value for name, value in approval.payload.items() if name not in besides}
    own = [(visible(name), _json(value)) for name, value in _leaves("", shown)]
    rows = [*own, *((name, _json(value)) for name, value in bound)]
    width = min(max(len(name) for name, _ in rows), 32)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def payload(approval: Approval) -> Block:
    """Return the payload as fixed-width text: all that `substance` does not show whole."""
    if email_of(approval) is not None:
        heading, besides = "What else the approval is bound to", emails.SHOWN
    elif flag_of(approval) is not None:
        heading, besides = "What else the approval is bound to", flags.SHOWN
    else:
        heading, besides = "The exact request", frozenset()
    return rich(line(word(heading, "bold")), code_block(payload_text(approval, besides)))


def small_print(approval: Approval) -> Block:
    """Return ids, hash, policy, model, and the deadline in the reader's time zone."""
    ids = (
        f"`{escape(approval.id)}` · rev {approval.revision} · sha256 `{approval.short_hash()}`"
        f" · policy `{escape(approval.policy_version)}`"
    )
    model = plain(clip(visible(f"model {approval.model}"), _MODEL_LIMIT))
    return context(ours(_deadline(approval)), ours(ids), model)


def _deadline(approval: Approval) -> str:
    if approval.automatic:
        return f"Proposed {moment_token(approval.created_at)}"
    if approval.status is Status.APPROVED and approval.use_by is not None:
        return f"⏳ Good until {moment_token(approval.use_by)}"
    words = {Status.PENDING: "⏳ Decide by", Status.EXPIRED: "Deadline was"}
    # What people decided in time is drawn once more while its deadline is still to come.
    return f"{words.get(approval.status, 'Deadline')} {moment_token(approval.expires_at)}"


def _changes(approval: Approval, limit: int) -> tuple[list[Row], list[Block]]:
    """Return what differs between proposal and payload: rows, and what stands below them."""
    before, after = approval.proposed, approval.payload
    if (new := email_of(approval)) is not None and (old := read_email(before)) is not None:
        return emails.changes(old, new, limit)
    pairs = [
        ("Amount", amount_of(before), amount_of(after)),
        ("Order", order_of(before), order_of(after)),
    ]
    rows = [
        changed(label, *(clip(visible(str(side or "none")), limit) for side in (was, now)))
        for label, was, now in pairs
        if was != now
    ]
    return rows, []


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
