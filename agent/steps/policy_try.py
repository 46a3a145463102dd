"""A policy is tried on what was proposed lately; nothing but a line in the trail comes of it."""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.desk import Desk
from agent.domain.approvals import Approval, amount_of
from agent.domain.audit import AuditType
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.ids import CustomerId
from agent.domain.payload import Payload, parse_strict
from agent.domain.policy import Policy
from agent.domain.policy_history import Asked, Moment
from agent.domain.policy_trial import (
    BY_POLICY,
    Change,
    Compared,
    PastProposal,
    Switches,
    Tally,
    follow,
    judge_again,
    past_of,
)
from agent.domain.risk import Refusal, Refuse
from agent.domain.roles import Channel, Identity
from agent.tools.base import Arguments, Caller, parse_arguments
from agent.tools.effects import order_of
from agent.tools.refunds import IssueRefund
from agent.tools.registry import EFFECTS, TOOLS
from storage import audit, pauses, proposals
from storage.proposals import Period, RefusedCall

log = logging.getLogger(__name__)

PAGE = 500


@dataclass(frozen=True, slots=True)
class Trial:
    """The policy that is tried, how many days back, by whom, and through which door."""

    policy: Policy
    days: int
    by: Identity
    channel: Channel


@dataclass(frozen=True, slots=True)
class _Record:
    """What the whole trial is read against, and how much of it at a time."""

    at_a_time: int
    period: Period
    switches: Switches
    paused_since: Mapping[CustomerId, datetime]

    def complete(self, counted: Moment, at: datetime) -> Moment:
        """Return the moment with how the switches stood."""
        stopped, breaker_open = self.switches.at(at)
        return replace(counted, stopped=stopped, breaker_open=breaker_open)

    def was_paused(self, customer_id: CustomerId, at: datetime) -> bool:
        """Tell whether a pause that still holds had begun; one that was lifted left no row."""
        since = self.paused_since.get(customer_id)
        return since is not None and since <= at


def try_policy(
    desk: Desk, trial: Trial, tell: Callable[[Compared], None], *, at_a_time: int = PAGE
) -> Tally:
    """Compare what the gate said of each proposal with what the tried policy says of it.

    `tell` hears of each difference as it is found: first the approvals, then what was refused.
    `at_a_time` is how many approvals, or runs of the trail, are read in one transaction.
    """
    now = desk.clock.now()
    with desk.store.transaction(write=False) as tx:
        record = _Record(
            at_a_time,
            Period(now - timedelta(days=trial.days), now),
            follow(proposals.switches(tx)),
            {pause.customer_id: pause.since for pause in pauses.everyone(tx)},
        )
    tally = Tally()
    for pasts in (_approvals(desk, trial, record), _refusals(desk, trial, record)):
        for compared in pasts:
            if compared is None:
                tally.unreadable += 1
                continue
            tally.add(compared)
            if compared.is_difference:
                tell(compared)
    _note(desk, trial, tally)
    return tally


def _approvals(desk: Desk, trial: Trial, record: _Record) -> Iterator[Compared | None]:
    """Yield each approval that the gate made; None for one that cannot be read."""
    after = ""
    while True:
        with desk.store.transaction(write=False) as tx:
            page = proposals.proposed(tx, record.period, after, record.at_a_time)
        if page.last is None:
            return
        for approval in page.approvals:
            if approval is None:
                yield None
                continue
            counted = page.history.moment(_asked(approval), trial.policy)
            moment = record.complete(counted, approval.created_at)
            yield _compare(past_of(approval, moment), trial.policy)
        after = page.last


def _asked(approval: Approval) -> Asked:
    currency = None if approval.amount is None else approval.amount.currency
    return Asked(
        id=approval.id,
        tool=approval.tool,
        customer_id=approval.customer_id,
        order_id=approval.order_id,
        currency=currency,
        at=approval.created_at,
    )


def _refusals(desk: Desk, trial: Trial, record: _Record) -> Iterator[Compared | None]:
    """Yield each call that was refused for the policy's numbers; None for an unreadable one."""
    # Binding takes texts and lines from the policy: those of the tried one.
    tried = replace(desk, policy=trial.policy)
    after = ""
    while True:
        with desk.store.transaction(write=False) as tx:
            page = proposals.refused(tx, record.period, after, record.at_a_time)
        if page.last is None:
            return
        for call in page.calls:
            try:
                asked = _read(call)
            except InvalidInput:
                yield None
                continue
            if asked is not None:
                yield _refused(tried, record, call, asked)
        after = page.last


@dataclass(frozen=True, slots=True)
class _Refused:
    """What was asked for, and why it was refused."""

    code: Refusal
    tool: str
    arguments: Arguments


def _read(call: RefusedCall) -> _Refused | None:
    """Return a call that was refused for the policy's numbers; raises InvalidInput.

    The trail keeps the beginning of long arguments only, which cannot be read.
    """
    match parse_strict(call.body).get("data"):
        case {"code": str(code), "tool": str(tool), "arguments": str(arguments)}:
            if code not in BY_POLICY or tool not in EFFECTS:
                return None
            return _Refused(Refusal(code), tool, parse_arguments(TOOLS[tool], arguments))
        case _:
            raise InvalidInput("event", "does not say what was refused")


def _refused(tried: Desk, record: _Record, call: RefusedCall, asked: _Refused) -> Compared | None:
    caller = Caller(call.customer_id, call.conversation_id)
    past = PastProposal(
        id=call.run_id,
        at=call.at,
        tool=asked.tool,
        payload={},
        confidence=None,
        recorded=Refuse(asked.code, ""),
        moment=Moment(),
    )
    try:
        bound = EFFECTS[asked.tool].bind(tried, caller, asked.arguments)
    except InvalidInput as invalid:
        return Compared(past, Refuse(Refusal.INVALID_ARGUMENTS, str(invalid)))
    # What met the breaker would have run, so nothing was stopped or paused then.
    held = asked.code is Refusal.BREAKER_OPEN
    counted = _counted(tried, call, asked.tool, bound.payload)
    unclear = isinstance(asked.arguments, IssueRefund) and asked.arguments.scope == "unclear"
    past = replace(
        past,
        payload=bound.payload,
        confidence=bound.confidence,
        moment=replace(counted, breaker_open=True) if held else record.complete(counted, call.at),
        unclear=unclear,
        paused=not held and record.was_paused(call.customer_id, call.at),
        to_own=_to_own(tried, call, bound.payload),
    )
    return _compare(past, tried.policy)


def _counted(tried: Desk, call: RefusedCall, tool: str, payload: Payload) -> Moment:
    amount = amount_of(payload)
    asked = Asked(
        id=None,
        tool=tool,
        customer_id=call.customer_id,
        order_id=order_of(payload),
        currency=None if amount is None else amount.currency,
        at=call.at,
    )
    with tried.store.transaction(write=False) as tx:
        return proposals.past_of(tx, asked).moment(asked, tried.policy)


def _to_own(desk: Desk, call: RefusedCall, payload: Payload) -> bool:
    """Tell whether an e-mail that was never stored was meant for the customer's own address."""
    recipients = payload.get("to")
    if recipients is None:
        return True
    customer = desk.shop.customer(call.customer_id)
    return customer is not None and recipients == [customer.email]


def _compare(past: PastProposal, policy: Policy) -> Compared | None:
    try:
        return Compared(past, judge_again(past, policy))
    except Corrupt:
        return None


def _note(desk: Desk, trial: Trial, tally: Tally) -> None:
    """Log the dry run, and keep in the trail who tried what."""
    counts = {change.value: tally.counts[change] for change in Change}
    log.info(
        "policy %s tried on %d proposals of %d days: %s",
        trial.policy.version,
        tally.judged,
        trial.days,
        ", ".join(f"{number} {name}" for name, number in counts.items()),
    )
    data: Payload = {
        "by": str(trial.by),
        "policy_version": trial.policy.version,
        "days": trial.days,
        "judged": tally.judged,
        "unreadable": tally.unreadable,
        **counts,
    }
    with desk.store.transaction() as tx:
        fact = audit.Fact(AuditType.POLICY_TRIED, str(trial.by), trial.channel, data)
        audit.append(tx, None, desk.clock.now(), fact)
