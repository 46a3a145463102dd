"""What the gate would have said of a past proposal under another policy. Pure.

Each proposal is judged alone, as things stood at its moment. What the order, the shop or the
model's arguments had against it is not asked again: no policy changes that.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Literal, TypeAlias, TypedDict

from agent.domain.approvals import Approval, amount_of
from agent.domain.audit import AuditType
from agent.domain.deadlines import EXECUTION_LEASE
from agent.domain.errors import Corrupt
from agent.domain.fraud import FlagFacts, FlagProposal, assess_flag
from agent.domain.messages import EmailFacts, EmailProposal, assess_email
from agent.domain.money import Money
from agent.domain.payload import Payload
from agent.domain.policy import Policy
from agent.domain.policy_history import Moment
from agent.domain.risk import (
    Finding,
    OrderFacts,
    Park,
    Reason,
    RefundFacts,
    RefundProposal,
    Refusal,
    Refuse,
    RunNow,
    assess,
)

Judgement: TypeAlias = RunNow | Park | Refuse
# The refusals that are judged again; too many rejections are not, others follow under any policy.
BY_POLICY = frozenset({Refusal.TOO_MANY_OPEN, Refusal.BREAKER_OPEN})
# The events that `follow` needs.
SWITCHING = (
    AuditType.STOP_THROWN,
    AuditType.STOP_LIFTED,
    AuditType.BREAKER_OPENED,
    AuditType.BREAKER_TRIAL,
    AuditType.BREAKER_CLOSED,
    AuditType.BREAKER_RESET,
)


@dataclass(frozen=True, slots=True)
class PastProposal:
    """A proposal that the gate has judged; `id` is the approval's, or the run's of a refusal.

    `unclear` (the scope), `paused` (the customer) and `to_own` (an e-mail to one person goes to
    the customer's own address) are what nothing but the record tells.
    """

    id: str
    at: datetime
    tool: str
    payload: Payload
    confidence: str | None
    recorded: Judgement
    moment: Moment
    unclear: bool = False
    paused: bool = False
    earlier_no: Literal["rejected", "expired"] | None = None
    to_own: bool = True

    @property
    def amount(self) -> Money | None:
        """Return the amount, None where it is not about money."""
        return amount_of(self.payload)


class Change(StrEnum):
    """What another policy makes of a proposal."""

    NONE = "same"
    OTHER_REASONS = "other_reasons"
    OTHER_PEOPLE = "other_people"
    RUNS = "runs"
    WAITS = "waits"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Compared:
    """A past proposal beside what the tried policy says of it."""

    past: PastProposal
    now: Judgement

    @property
    def change(self) -> Change:
        """Return how the two differ; waiting for other people is a difference."""
        match self.past.recorded, self.now:
            case (Park() as before, Park() as now) if before.tier != now.tier:
                return Change.OTHER_PEOPLE
            case (Park() as before, Park() as now):
                same = _codes(before) == _codes(now)
                return Change.NONE if same else Change.OTHER_REASONS
            case (Refuse(code=before_code), Refuse(code=now_code)):
                return Change.NONE if before_code is now_code else Change.OTHER_REASONS
            case (RunNow(), RunNow()):
                return Change.NONE
            case (_, RunNow()):
                return Change.RUNS
            case (_, Park()):
                return Change.WAITS
            case _:
                return Change.REFUSED

    @property
    def is_difference(self) -> bool:
        """Tell whether it would have been decided differently, not just for other reasons."""
        return self.change not in {Change.NONE, Change.OTHER_REASONS}


@dataclass(slots=True)
class Tally:
    """The sums of a trial; money is minor units by change and currency."""

    counts: Counter[Change] = field(default_factory=Counter)
    money: Counter[tuple[Change, str]] = field(default_factory=Counter)
    unreadable: int = 0

    def add(self, compared: Compared) -> None:
        """Count one proposal."""
        change, amount = compared.change, compared.past.amount
        self.counts[change] += 1
        if amount is not None:
            self.money[change, amount.currency] += amount.minor

    @property
    def judged(self) -> int:
        """Return how many proposals were compared."""
        return self.counts.total()

    def sums(self, change: Change) -> tuple[Money, ...]:
        """Return the money of one kind of change, a currency each."""
        found = sorted((c, minor) for (kind, c), minor in self.money.items() if kind is change)
        return tuple(Money(minor, currency) for currency, minor in found)


@dataclass(frozen=True, slots=True)
class SwitchEvent:
    """An event of the trail that moved the breaker or the stop switch."""

    type: str
    at: datetime
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Switches:
    """How stop switch and breaker stood over time: `states[i]` since `times[i]`.

    A state is whether everything was stopped, and until when the breaker held refunds back.
    """

    times: tuple[datetime, ...]
    states: tuple[tuple[bool, datetime | None], ...]

    def at(self, moment: datetime) -> tuple[bool, bool]:
        """Return whether everything was stopped then, and whether the breaker held back."""
        number = bisect_right(self.times, moment)
        if number == 0:
            return False, False
        stopped, until = self.states[number - 1]
        return stopped, until is not None and moment < until


def follow(events: Iterable[SwitchEvent]) -> Switches:
    """Return how the switches stood; `events` are those of `SWITCHING`, oldest first.

    After its cooldown an open breaker holds nothing back: the next refund is its trial.
    """
    times, states = list[datetime](), list[tuple[bool, datetime | None]]()
    stopped, until = False, None
    for event in events:
        match event.type:
            case AuditType.STOP_THROWN | AuditType.STOP_LIFTED:
                stopped = event.type == AuditType.STOP_THROWN
            case AuditType.BREAKER_OPENED:
                until = event.retry_at
            case AuditType.BREAKER_TRIAL:
                until = event.at + EXECUTION_LEASE
            case _:
                until = None
        times.append(event.at)
        states.append((stopped, until))
    return Switches(tuple(times), tuple(states))


def past_of(approval: Approval, moment: Moment) -> PastProposal:
    """Return the proposal that a stored approval began with."""
    codes = [finding.code for finding in approval.findings]
    held = Reason.BREAKER_OPEN in codes
    # What ran, or met the open breaker, shows itself how the switches stood.
    if approval.automatic or held:
        moment = replace(moment, stopped=False, breaker_open=held)
    return PastProposal(
        id=approval.id,
        at=approval.created_at,
        tool=approval.tool,
        payload=approval.payload,
        confidence=approval.confidence,
        recorded=RunNow() if approval.automatic else Park(approval.findings, approval.tier),
        moment=moment,
        unclear=Reason.AMBIGUOUS in codes,
        paused=Reason.AUTOMATIC_PAUSED in codes,
        earlier_no="rejected" if Reason.EARLIER_NO in codes else None,
        to_own=_was_own(approval.payload, codes.count(Reason.IRREVERSIBLE_MESSAGE)),
    )


def judge_again(past: PastProposal, policy: Policy) -> Judgement:
    """Return the gate's verdict under a policy; raises Corrupt for what cannot be understood."""
    try:
        confidence = None if past.confidence is None else Decimal(past.confidence)
        match past.tool, past.payload:
            case "issue_refund", _ if past.amount is not None:
                return _refund(past, past.amount, confidence, policy)
            case "send_email", {"template": str() | None as template}:
                return _email(past, template, confidence, policy)
            case "flag_for_fraud", {"score": str(score)}:
                flag = FlagProposal(score=Decimal(score), confidence=confidence)
                facts = FlagFacts(**_standing(past), order_found=True)
                return assess_flag(flag, facts, policy)
            case _:
                raise Corrupt(past.id, f"not a proposal of {past.tool}")
    except InvalidOperation as error:
        raise Corrupt(past.id, "a number cannot be read") from error


class _Standing(TypedDict):
    verified: bool
    decided_before: Literal["rejected", "edited"] | None
    rejections: int
    earlier_no: Literal["rejected", "expired"] | None
    open_approvals: int
    stopped: bool
    paused: str | None


def _standing(past: PastProposal) -> _Standing:
    return _Standing(
        verified=True,
        decided_before=None,
        # Whose order had met too many was refused, which is left out: another `max_revisions` is
        # not tried.
        rejections=0,
        earlier_no=past.moment.earlier_no if past.amount is not None else past.earlier_no,
        open_approvals=past.moment.open_approvals,
        stopped=past.moment.stopped,
        paused="it was then" if past.paused else None,
    )


def _refund(
    past: PastProposal, amount: Money, confidence: Decimal | None, policy: Policy
) -> Judgement:
    moment, nothing = past.moment, Money(0, amount.currency)
    order_id = str(past.payload.get("order_id"))
    # The order had room for it then, which is all that the judgement asks of an order.
    order = OrderFacts(
        order_id=order_id,
        customer_id=str(past.payload.get("customer_id")),
        total=amount,
        captured=amount,
        refunded=nothing,
        final_sale=nothing,
        disputed=False,
        read_at=past.at,
    )
    facts = RefundFacts(
        **_standing(past),
        order=order,
        reserved=None,
        automatic_on_order=moment.automatic_on_order,
        automatic_by_customer=moment.automatic_by_customer,
        automatic_number=moment.automatic_number,
    )
    scope: Literal["partial", "unclear"] = "unclear" if past.unclear else "partial"
    verdict = assess(RefundProposal(order_id, amount, scope, confidence), facts, policy)
    if not isinstance(verdict, RunNow) or not moment.breaker_open:
        return verdict
    words = "The breaker was open then"
    if policy.breaker.when_open == "refuse":
        return Refuse(Refusal.BREAKER_OPEN, words)
    return Park((Finding(Reason.BREAKER_OPEN, words),), policy.tier_for(amount))


def _email(
    past: PastProposal, template: str | None, confidence: Decimal | None, policy: Policy
) -> Judgement:
    if template is not None and template not in policy.emails.templates:
        return Refuse(Refusal.INVALID_ARGUMENTS, f"There is no template {template}")
    to, cc, bcc = (_addresses(past.payload, name) for name in ("to", "cc", "bcc"))
    own = to[0] if to and past.to_own else ""
    facts = EmailFacts(
        **_standing(past),
        own_address=own,
        order_found=True,
        available=True,
        automatic_number=past.moment.automatic_number,
    )
    return assess_email(EmailProposal(template, to, cc, bcc, confidence), facts, policy)


def _was_own(payload: Payload, irreversible: int) -> bool:
    """Tell from the number of findings whether an e-mail went to the customer's own address.

    The gate notes it once for a text of the agent's own, once for the recipients and once for an
    odd domain.
    """
    addresses = [a for name in ("to", "cc", "bcc") for a in _addresses(payload, name)]
    odd = any("xn--" in address.lower() for address in addresses)
    return irreversible == (payload.get("template") is None) + odd


def _addresses(payload: Payload, name: str) -> tuple[str, ...]:
    found = payload.get(name)
    return tuple(str(address) for address in found) if isinstance(found, list) else ()


def _codes(park: Park) -> tuple[Reason, ...]:
    return tuple(finding.code for finding in park.findings)
