"""`flag_for_fraud` proposes a mark on the customer; the customer never reads of it."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import override

from agent.desk import Desk
from agent.domain.approvals import Approval
from agent.domain.decision import Edits
from agent.domain.errors import InvalidInput
from agent.domain.fraud import (
    FlagAction,
    FlagFacts,
    FlagProposal,
    action_for,
    assess_flag,
    flag_tier,
    recheck_flag,
)
from agent.domain.ids import CustomerId
from agent.domain.payload import Payload
from agent.domain.policy import Policy
from agent.domain.risk import Finding, RunNow
from agent.ports import FlagRecord, FlagRequest
from agent.tools.base import Arguments, Caller, Tool, ToolClass, one_line
from agent.tools.effects import (
    Bound,
    Effect,
    EffectAnswer,
    Judged,
    Reading,
    Recorded,
    Terms,
    customer_of,
    findings_of,
    order_of,
)
from agent.tools.faults import first_fault
from agent.tools.order_facts import Question, standing
from agent.tools.orders import OrderReference, own_order
from agent.tools.refunds import Confidence, ModelReason, NumberText
from storage.transaction import Tx

MAX_SIGNALS = 10
_SCORE = r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$"


Signal = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(one_line)]


class FlagForFraud(Arguments):
    """Arguments of `flag_for_fraud`; it is always about the customer of the conversation."""

    order_id: OrderReference | None = None
    score: Annotated[
        NumberText, Field(pattern=_SCORE, description="how likely it is fraud, 0 to 1")
    ]
    signals: Annotated[
        tuple[Signal, ...],
        Field(
            min_length=1, max_length=MAX_SIGNALS, description="what you have seen, one fact each"
        ),
    ]
    reason: ModelReason
    confidence: Confidence = None


class _StoredFlag(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    customer_id: Annotated[str, Field(min_length=1)]
    order_id: str | None
    score: Annotated[str, Field(pattern=_SCORE)]
    action: Annotated[FlagAction, Field(strict=False)]
    signals: Annotated[list[str], Field(min_length=1)]


class FlagEffect(Effect):
    """A mark in the shop's book of fraud signals."""

    @property
    @override
    def can_look(self) -> bool:
        return True

    @override
    def bind(self, desk: Desk, caller: Caller, arguments: Arguments) -> Bound:
        asked = _arguments(arguments)
        order = None if asked.order_id is None else own_order(desk, caller, asked.order_id)
        payload: Payload = {
            "customer_id": caller.customer_id or CustomerId(""),
            "order_id": asked.order_id if order is None else order.id,
            "score": asked.score,
            "action": action_for(Decimal(asked.score), desk.policy).value,
            "signals": list(asked.signals),
        }
        return Bound(payload, asked.confidence, asked.reason, asked)

    @override
    def read(self, desk: Desk, payload: Payload) -> Reading:
        read_at, named = desk.clock.now(), order_of(payload)
        order = None if named is None else desk.shop.order(named)
        theirs = order is not None and order.customer_id == customer_of(payload)
        return Reading(read_at, order_found=named is None or theirs)

    @override
    def lock(self, tx: Tx, reading: Reading) -> None:
        """Lock nothing: a flag draws on nothing that others share."""

    @override
    def judge(
        self, tx: Tx, desk: Desk, bound: Bound, reading: Reading, question: Question, now: datetime
    ) -> Judged:
        proposal = FlagProposal(
            score=Decimal(_arguments(bound.arguments).score),
            confidence=None if bound.confidence is None else Decimal(bound.confidence),
        )
        return Judged(assess_flag(proposal, _facts(tx, desk, reading, question, now), desk.policy))

    @override
    def recheck(
        self,
        tx: Tx,
        desk: Desk,
        payload: Payload,
        reading: Reading,
        question: Question,
        now: datetime,
    ) -> Judged:
        return Judged(recheck_flag(_facts(tx, desk, reading, question, now)) or RunNow())

    @override
    def weigh(
        self, tx: Tx, desk: Desk, row: Approval, reading: Reading, question: Question, now: datetime
    ) -> tuple[Finding, ...]:
        proposal = FlagProposal(
            score=Decimal(str(row.payload["score"])),
            confidence=None if row.confidence is None else Decimal(row.confidence),
        )
        facts = _facts(tx, desk, reading, question, now)
        return findings_of(assess_flag(proposal, facts, desk.policy))

    @override
    def terms(self, policy: Policy, payload: Payload) -> Terms:
        rules = policy.fraud_flags
        within = timedelta(seconds=rules.decide_within_s)
        return Terms(flag_tier(policy), within, rules.use_within_s, rules.at_deadline)

    @override
    def change(self, desk: Desk, payload: Payload, edits: Edits) -> Payload:
        raise InvalidInput("edits", "a fraud flag is not edited: approve it or reject it")

    @override
    def describe_change(self, before: Payload, after: Payload) -> str:
        return "nothing" if before == after else "the flag"

    @override
    def exceeds(self, before: Payload, after: Payload) -> bool:
        return before != after

    @override
    def check(self, approval: Approval) -> None:
        _stored(approval)

    @override
    def run(self, desk: Desk, approval: Approval) -> EffectAnswer:
        stored = _stored(approval)
        request = FlagRequest(
            key=approval.idempotency_key,
            approval_id=approval.id,
            customer_id=CustomerId(stored.customer_id),
            order_id=stored.order_id,
            score=stored.score,
            action=stored.action,
            signals=tuple(stored.signals),
        )
        return _recorded(desk.flags.put(request))

    @override
    def look(self, desk: Desk, approval: Approval) -> EffectAnswer | None:
        found = desk.flags.find(approval.idempotency_key)
        return None if found is None else _recorded(found)


def _arguments(arguments: Arguments) -> FlagForFraud:
    if not isinstance(arguments, FlagForFraud):
        raise TypeError("flag_for_fraud takes FlagForFraud")
    return arguments


def _facts(tx: Tx, desk: Desk, reading: Reading, question: Question, now: datetime) -> FlagFacts:
    known = standing(tx, desk, question, now)
    # A flag that waits keeps no other from being noted.
    known["paused"] = None
    return FlagFacts(**known, order_found=reading.order_found)


def _stored(approval: Approval) -> _StoredFlag:
    try:
        return _StoredFlag.model_validate_json(approval.payload_text)
    except ValidationError as error:
        raise first_fault(error, "payload") from error


def _recorded(flag: FlagRecord) -> Recorded:
    return Recorded({"flag_id": flag.id, "action": flag.action.value}, done=True)


FLAG_FOR_FRAUD = Tool(
    name="flag_for_fraud",
    description=(
        "Mark the customer as suspicious, with a score and the facts you have seen. A low score "
        "is noted, a high one waits for a person. Never tell the customer."
    ),
    arguments=FlagForFraud,
    tool_class=ToolClass.ACCOUNT,
    side_effect="mutating",
    requires_confirmation=True,
    impact="high",
    reversible="yes",
    triggers="with action hold, nothing runs for the customer without a person",
)
