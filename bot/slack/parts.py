"""The parts of a card that show a request in full; the modals show the same parts."""

import json
from collections.abc import Iterator, Mapping

from agent.domain.approvals import Approval, ApprovalView, Status, amount_of
from agent.domain.ids import ActorId
from agent.domain.money import Money
from agent.domain.payload import Json, Payload
from agent.domain.privacy import Known, known, mask, mask_name
from agent.tools.effects import order_of
from agent.tools.levels import Level, weigh
from bot.slack import buttons, emails, flags
from bot.slack.blocks import (
    Block,
    Row,
    bullets,
    changed,
    code_block,
    context,
    emoji,
    fields,
    line,
    lines,
    mention,
    moment,
    moment_token,
    ours,
    plain,
    quote,
    rich,
    table,
    word,
)
from bot.slack.proposals import email_of, flag_of, read_email
from bot.slack.states import progress_words, tier_words
from bot.slack.targets import Target
from bot.slack.text import NAME_LIMIT, NO_LIMIT, clip, escape, visible

People = Mapping[ActorId, str]

_FIELD_LIMIT = 1_900
_BRIEF_FINDINGS = 6
_MODEL_LIMIT = 200
_WAS_LIMIT = 200
_SIGNS = {Level.LOW: "🟢", Level.MEDIUM: "🟠", Level.HIGH: "🔴"}


def facts(view: ApprovalView, *, revealed: bool = False) -> list[tuple[str, str]]:
    """Return who and what at a glance: at most four labelled values of one line each.

    The customer is masked unless `revealed`.
    """
    approval = view.approval
    pairs = [
        ("Order", approval.order_id or "-"),
        ("Customer", _customer(view, revealed=revealed)),
        ("Allowed by", "the policy") if approval.automatic else ("Approvals", progress_words(view)),
    ]
    return [(label, clip(visible(value), _FIELD_LIMIT)) for label, value in pairs]


def facts_block(
    view: ApprovalView,
    *,
    offer_reveal: bool = False,
    revealed: bool = False,
    limit: int = NO_LIMIT,
) -> Block:
    """Return the facts, with the way to what is masked of them or of the texts, if offered."""
    hidden = offer_reveal and is_masked(view)
    return fields(
        [(label, clip(value, limit)) for label, value in facts(view, revealed=revealed)],
        buttons.reveal_button(Target.of(view.approval)) if hidden else None,
    )


def customer_name(view: ApprovalView) -> str:
    """Return the customer's name as everybody in a channel may read it."""
    return mask(mask_name(view.customer_name), _about(view))


def masked(view: ApprovalView, text: str) -> str:
    """Return a free text about a request as everybody in a channel may read it."""
    return mask(text, _about(view))


def is_masked(view: ApprovalView) -> bool:
    """Tell whether a card of the request hides anything of the customer."""
    asked = (text for ask in view.asks for text in (ask.question, ask.answer or ""))
    texts = (*view.customer_words, view.approval.model_reason, *asked)
    return any(masked(view, text) != text for text in texts) or _customer(
        view, revealed=False
    ) != _customer(view, revealed=True)


def _about(view: ApprovalView) -> Known:
    return known(view.customer_name, view.approval.payload_text)


def _customer(view: ApprovalView, *, revealed: bool) -> str:
    if not view.customer_name.strip(" "):
        return f"{view.approval.customer_id} (unknown to the shop)"
    name = view.customer_name if revealed else customer_name(view)
    address = view.customer_email if revealed else masked(view, view.customer_email)
    return f"{name} · {address}" if address else name


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
    rows, below = changes(approval.proposed, approval.payload, limit)
    if not rows:
        heading.append(word(": it is again what the agent proposed"))
    return rich(lines(heading, *rows), *below)


def level(approval: Approval) -> Row:
    """Return the level and the facts behind it as one row of a rich text."""
    weighed = weigh(approval)
    return [
        word(f"{_SIGNS[weighed.level]} Level {weighed.level}", "bold"),
        word(f" · {' · '.join(weighed.facts)}"),
    ]


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
    policy = word(f" · the policy asks for {tier_words(approval.tier)}")
    if not found:
        return rich(lines(level(approval), [heading, policy]))
    return rich(lines(level(approval), [heading, policy]), bullets(*found))


def words(view: ApprovalView, limit: int = NO_LIMIT) -> list[Block]:
    """Return what the agent says and what the customer wrote, marked as theirs and masked."""
    approval = view.approval
    reason = clip(visible(masked(view, approval.model_reason), lines=True), limit)
    said: list[Block] = []
    for text in view.customer_words:
        # Slack draws neighbouring quotations as one.
        said += [line(word("and then", "italic"))] if said else []
        said.append(quote(clip(visible(masked(view, text), lines=True), limit)))
    customer = [rich(line(word("The customer wrote", "bold")), *said)] if said else []
    return [rich(agent_heading(approval), quote(reason)), *customer]


def agent_heading(approval: Approval) -> Block:
    """Return the line that marks what follows as the agent's own words."""
    sure = (
        "no confidence stated"
        if approval.confidence is None
        else f"confidence {clip(visible(approval.confidence), NAME_LIMIT)}"
    )
    return line(
        word("The agent says", "bold"),
        word(f" · its own words, not checked · {sure}", "italic"),
    )


def money(approval: Approval, *, classic: bool) -> list[Block]:
    """Return the order's money before and after a refund; `classic` does without a table.

    Of what is no refund there is nothing.
    """
    rows = _money_rows(approval)
    if not rows:
        return []
    if not classic:
        return [table(rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return [rich(code_block("\n".join(lines)))]


def substance(view: ApprovalView, limit: int = NO_LIMIT) -> list[Block]:
    """Return the e-mail or the flag that a request is about; with a `limit` texts are cut to it."""
    approval = view.approval
    email, flag = email_of(approval), flag_of(approval)
    if email is not None:
        return emails.blocks(approval, email, view.customer_email, limit)
    return [] if flag is None else [flags.block(flag, limit)]


def payload_text(approval: Approval, besides: frozenset[str] = frozenset()) -> str:
    """Return everything the hash binds, one field a line, each value as JSON, edited ones first.

    Fields named in `besides` are left out: what shows them must show them whole.
    """
    bound = [
        ("tool", approval.tool),
        ("approval_id", approval.id),
        ("policy_version", approval.policy_version),
    ]
    shown = {name: value for name, value in approval.payload.items() if name not in besides}
    before = dict(_leaves("", approval.proposed))
    own = [
        (visible(name), _json(value), "" if before.get(name) == value else _was(before.get(name)))
        for name, value in _leaves("", shown)
    ]
    # What people have changed stands first.
    own.sort(key=lambda row: row[2] == "")
    rows = [*own, *((name, _json(value), "") for name, value in bound)]
    width = min(max(len(name) for name, _, _ in rows), 32)
    return "\n".join(f"{name:<{width}}  {value}{was}" for name, value, was in rows)


def payload(approval: Approval) -> Block:
    """Return the payload as fixed-width text: all that `substance` does not show whole."""
    if email_of(approval) is not None:
        heading, besides = "What else the approval is bound to", emails.SHOWN
    elif flag_of(approval) is not None:
        heading, besides = "What else the approval is bound to", flags.SHOWN
    else:
        heading, besides = "The exact request", frozenset()
    return rich(line(word(heading, "bold")), code_block(payload_text(approval, besides)))


def taken(view: ApprovalView) -> list[Block]:
    """Return who looks into a request that waits, and since when; nothing while nobody does."""
    told = taken_words(view.approval)
    return [rich(line(*told))] if told else []


def taken_words(approval: Approval) -> Row:
    """Return the same as one row of a rich text, empty while nobody looks into it."""
    if approval.taken_by is None or approval.status is not Status.PENDING:
        return []
    since = [] if approval.taken_at is None else [word(" since "), moment(approval.taken_at)]
    name = word(f" {clip(visible(approval.taken_by), NAME_LIMIT)}", "bold")
    return [emoji("eyes"), name, word(" looks into it"), *since]


def small_print(approval: Approval) -> Block:
    """Return ids, hash, policy, model, and both times in the reader's own zone."""
    ids = (
        f"`{escape(approval.id)}` · rev {approval.revision} · sha256 `{approval.short_hash()}`"
        f" · policy `{escape(approval.policy_version)}`"
    )
    model = plain(clip(visible(f"model {approval.model}"), _MODEL_LIMIT))
    return context(ours(_times(approval)), ours(ids), model)


def _times(approval: Approval) -> str:
    when = moment_token(approval.created_at)
    if approval.automatic:
        return f"Asked {when}"
    asked = f"asked {when}"
    if approval.status is Status.APPROVED and approval.use_by is not None:
        return f"⏳ Good until {moment_token(approval.use_by)} · {asked}"
    until = f"{_deadline(approval)} {moment_token(approval.expires_at)}"
    return f"{f'*{until}*' if approval.status is Status.PENDING else until} · {asked}"


def _deadline(approval: Approval) -> str:
    match approval.status:
        case Status.PENDING if approval.escalations:
            return "⏫ Escalated, as nobody decided in time: decide by"
        case Status.PENDING:
            return "⏳ Decide by"
        case Status.EXPIRED:
            return "Deadline was"
        case _:
            # What people decided in time is drawn once more while its deadline is still to come.
            return "Deadline"


def changes(
    before: Payload, after: Payload, limit: int = NO_LIMIT
) -> tuple[list[Row], list[Block]]:
    """Return what differs between two payloads: rows of old and new, and what stands below them.

    With a `limit` each text is cut to it.
    """
    if (old := read_email(before)) is not None and (new := read_email(after)) is not None:
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


def _money_rows(approval: Approval) -> list[list[str]]:
    before, amount = approval.snapshot, approval.amount
    if before is None or amount is None or amount.currency != before.remaining.currency:
        return []

    def row(label: str, now: Money, after: Money) -> list[str]:
        return [label, now.plain(grouped=True), after.plain(grouped=True)]

    paid = (
        []
        if before.captured == before.order_total
        else [row("Paid by the customer", before.captured, before.captured)]
    )
    return [
        [amount.currency, "Before", "After"],
        row("Order total", before.order_total, before.order_total),
        *paid,
        row("Refunded so far", before.refunded, before.refunded.plus(amount)),
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


def _was(before: Json) -> str:
    return f"   (proposed: {clip(_json(before), _WAS_LIMIT)})"


def _json(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
