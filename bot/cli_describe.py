"""A request on a terminal, whole: what is bound, why it waits, and the truth about its outcome."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from agent.domain.approvals import Approval, ApprovalView, Status, Vote
from agent.domain.asks import Ask
from agent.domain.deadlines import LOOKS_TO_SETTLE, RESEND_WINDOW
from agent.domain.money import Money
from agent.domain.payload import Json
from agent.tools.levels import weigh
from agent.tools.registry import EFFECTS
from bot.cli_text import flatten, needs, pairs
from bot.shapes import rfc3339
from storage import attempts, decisions
from storage.attempts import Attempt
from storage.transaction import Tx

_DIFF_HEADER = 2
_Rows = Iterator[tuple[str, object]]


@dataclass(frozen=True, slots=True)
class Sight:
    """A request with all that is known of it, read in one transaction."""

    view: ApprovalView
    tries: tuple[Attempt, ...]

    @property
    def approval(self) -> Approval:
        """Return the row itself."""
        return self.view.approval


def see(tx: Tx, approval: Approval) -> Sight:
    """Read what surrounds a request."""
    return Sight(decisions.view(tx, approval), attempts.of(tx, approval.id))


def describe(sight: Sight) -> str:
    """Return everything that a person needs to decide: each hashed field, whole."""
    view, approval = sight.view, sight.approval
    return pairs(
        [
            ("approval", approval.id),
            ("status", approval.status.value),
            ("run", approval.run_id),
            ("tool", approval.tool),
            ("level", weigh(approval).level.value),
            ("triggers", weigh(approval).triggers),
            *_about(approval),
            *flatten("payload", approval.payload),
            ("hash", approval.payload_hash),
            ("policy", approval.policy_version),
            *_money(approval),
            *_changes(approval),
            *((f"reason {one.code.value}", one.text) for one in approval.findings),
            ("needs", needs(approval)),
            *(("vote", _vote(vote)) for vote in view.votes),
            ("customer", f"{view.customer_name} <{view.customer_email}> {approval.customer_id}"),
            *(("customer said", words) for words in view.customer_words),
            ("model", approval.model),
            ("model confidence", approval.confidence or "not stated"),
            ("model reason", approval.model_reason),
            *(row for one in view.asks for row in describe_ask(one)),
            ("created", rfc3339(approval.created_at)),
            ("expires", rfc3339(approval.expires_at)),
            *_aftermath(sight),
        ]
    )


def describe_ask(ask: Ask) -> list[tuple[str, object]]:
    """Return a question and what came back, a label and a value each."""
    who = f"{ask.actor_name} at {rfc3339(ask.asked_at)}"
    asked = (f"question to the {ask.asked_of}", f"{ask.question} ({who})")
    if ask.answered_at is None:
        return [asked, ("answer", "none yet")]
    at = rfc3339(ask.answered_at)
    late = ", after the request had ended" if ask.late else ""
    said = "none could be had" if ask.answer is None else ask.answer
    return [asked, ("answer", f"{said} (at {at}{late})")]


def _about(approval: Approval) -> _Rows:
    """Yield an e-mail as its readers would see it, or a flag's score and what was seen."""
    payload = approval.payload
    match approval.tool:
        case "send_email":
            for name in ("to", "cc", "bcc"):
                yield name.title(), ", ".join(map(str, _list(payload.get(name)))) or "nobody"
            yield "Subject", str(payload.get("subject"))
            for line in str(payload.get("body")).split("\n"):
                yield "Body", line
        case "flag_for_fraud":
            yield "score", str(payload.get("score"))
            yield "action", str(payload.get("action"))
            for signal in _list(payload.get("signals")):
                yield "signal", str(signal)
        case _:
            pass


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _money(approval: Approval) -> _Rows:
    amount, before = approval.amount, approval.snapshot
    if amount is None or before is None:
        return
    yield "amount", amount
    if approval.original_amount not in {None, amount}:
        yield "model asked for", approval.original_amount
    yield "order total", before.order_total
    yield "order paid", before.captured
    yield "order refunded", _change(before.refunded, before.refunded.plus(amount))
    yield "order left", _change(before.remaining, before.remaining.minus(amount))


def _change(before: Money, after: Money) -> str:
    return f"{before} -> {after}"


def _changes(approval: Approval) -> _Rows:
    """Yield what people made of the model's own proposal; texts line by line."""
    if not approval.is_edited:
        return
    for name, after in approval.payload.items():
        before = approval.proposed.get(name)
        if before == after:
            continue
        if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
            lines = unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
            shown = [line for line in list(lines)[_DIFF_HEADER:] if not line.startswith("@@")]
            yield from ((f"changed {name}", line) for line in shown)
        else:
            yield f"changed {name}", f"{_json(before)} -> {_json(after)}"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _vote(vote: Vote) -> str:
    alone = ", breaking the glass," if vote.break_glass else ""
    said = f"{vote.verdict} by {vote.actor_name}{alone} ({vote.channel}) at {rfc3339(vote.at)}"
    category = f" [{vote.category}]" if vote.category else ""
    reason = f": {vote.reason}" if vote.reason else ""
    note = f" (note: {vote.note})" if vote.note else ""
    return f"{said}{category}{reason}{note}"


def _aftermath(sight: Sight) -> _Rows:
    approval = sight.approval
    if approval.supersedes is not None:
        yield "supersedes", approval.supersedes
    if approval.superseded_by is not None:
        yield "superseded by", approval.superseded_by
    if approval.escalations:
        yield "escalated", "nobody decided in time, so it was given one more period"
    if approval.taken_by is not None and approval.taken_at is not None:
        yield "looked into by", f"{approval.taken_by} since {rfc3339(approval.taken_at)}"
    if approval.status is Status.APPROVED and sight.view.stopped:
        yield "stopped", "everything is stopped: it is not carried out before that is lifted"
    if approval.status is Status.APPROVED and approval.use_by is not None:
        yield "use by", rfc3339(approval.use_by)
    if approval.attempts:
        yield "attempts", approval.attempts
    yield from ((f"attempt {one.number}", _try(one)) for one in sight.tries)
    if approval.status is Status.UNKNOWN:
        yield from _unknown(sight)
    if approval.status is Status.EXECUTED and approval.wake_at is not None:
        until = rfc3339(approval.wake_at)
        yield "provider", f"has accepted it but not finished; asked again {until}"
    if approval.result is not None:
        yield from flatten("result", approval.result)


def _try(one: Attempt) -> str:
    sent = f"sent {rfc3339(one.started_at)} with key {one.key}"
    if one.ended_at is None:
        return f"{sent}, no answer yet"
    answer = "" if not one.answer else f" {_json(one.answer)}"
    return f"{sent}, {one.outcome} {rfc3339(one.ended_at)}{answer}"


def _unknown(sight: Sight) -> _Rows:
    """Yield what the desk does about an unknown outcome, and what a person can do and when."""
    approval, effect = sight.approval, EFFECTS.get(sight.approval.tool)
    command = f"agent pending settle {approval.id} (role refund_manager)"
    yield "unknown", "nobody can say yet whether it went through; it counts as if it had"
    if effect is None or not effect.can_look:
        yield "looks", "the receiving side cannot be asked what became of it"
        yield "a person can", f"say now what they have found out: {command}"
        return
    last = "" if approval.looked_at is None else f", last at {rfc3339(approval.looked_at)}"
    yield "looks", f"{approval.clean_looks} in vain{last}"
    if approval.wake_at is not None:
        yield "asked again", rfc3339(approval.wake_at)
    if approval.first_sent_at is None:
        return
    until = rfc3339(approval.first_sent_at + RESEND_WINDOW)
    held = ", but not while everything is stopped" if sight.view.stopped else ""
    yield "sent again", f"if it is provably absent: same key and bytes, until {until}{held}"
    when = f"from {until} on, after {LOOKS_TO_SETTLE} looks in vain"
    yield "a person can", f"say what they have found out {when}: {command}"
