"""What a tool with an effect brings to the story: how it is bound, judged, changed, carried out.

The story itself (gate, decide, execute, sweep) is the same for every tool.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from agent.desk import Desk
from agent.domain.approvals import Approval, Snapshot
from agent.domain.decision import Edits
from agent.domain.ids import CustomerId
from agent.domain.payload import Payload
from agent.domain.policy import AtDeadline, Policy
from agent.domain.risk import Finding, Park, Refuse, RunNow
from agent.domain.roles import Tier
from agent.ports import Declined, NoClearAnswer, NotStarted
from agent.tools.base import Arguments, Caller
from agent.tools.order_facts import OrderReading, Question
from storage.transaction import Tx


@dataclass(frozen=True, slots=True)
class Bound:
    """A proposal as a row holds it: what is hashed, and what the model says beside it.

    `arguments` is the call as it was validated, for what the judgement alone needs.
    """

    payload: Payload
    confidence: str | None
    reason: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Reading:
    """What shop and provider say at `read_at`, asked outside any transaction.

    `order` is None where none is named or found. `order_found` is false for one that is named
    and is not the customer's; `address` is the customer's own, None when the shop knows nobody.
    """

    read_at: datetime
    order: OrderReading | None = None
    order_found: bool = True
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The gate's verdict, with the order's money as it stood."""

    verdict: RunNow | Park | Refuse
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """Who decides, by when, and how long the approval is good for.

    `at_deadline` says whether the senior group has the same time once more.
    """

    tier: Tier
    decide_within: timedelta
    use_within_s: int
    at_deadline: AtDeadline

    @property
    def extra_s(self) -> int | None:
        """Return how many seconds people have after the deadline, None where it ends there."""
        return int(self.decide_within.total_seconds()) if self.at_deadline == "escalate" else None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The outside has a record: of the effect, or with `done` False of its failure.

    `settled` is false while the outside itself may still change its mind.
    """

    record: Payload
    done: bool
    settled: bool = True


EffectAnswer = Recorded | Declined | NotStarted | NoClearAnswer


class Effect(Protocol):
    """One tool's part of the story. Methods that take a `tx` ask nobody outside."""

    @property
    def can_look(self) -> bool:
        """Tell whether the outside can be asked what became of a request."""

    def bind(self, desk: Desk, caller: Caller, arguments: Arguments) -> Bound:
        """Return what will be hashed; raises InvalidInput naming the argument at fault."""

    def read(self, desk: Desk, payload: Payload) -> Reading:
        """Ask shop and provider what the judgement needs."""

    def lock(self, tx: Tx, reading: Reading) -> None:
        """Lock what the effect draws on, such as the order's money."""

    def judge(
        self, tx: Tx, desk: Desk, bound: Bound, reading: Reading, question: Question, now: datetime
    ) -> Judged:
        """Run the gate."""

    def recheck(
        self,
        tx: Tx,
        desk: Desk,
        payload: Payload,
        reading: Reading,
        question: Question,
        now: datetime,
    ) -> Judged:
        """Judge a stored payload again, before an edit or a claim: RunNow or Refuse."""

    def weigh(
        self, tx: Tx, desk: Desk, row: Approval, reading: Reading, question: Question, now: datetime
    ) -> tuple[Finding, ...]:
        """Return what the gate finds about a row that people have made of the model's proposal."""

    def terms(self, policy: Policy, payload: Payload) -> Terms:
        """Return who decides a payload, and by when."""

    def change(self, desk: Desk, payload: Payload, edits: Edits) -> Payload:
        """Return the payload with a person's edits; raises InvalidInput naming what cannot be."""

    def describe_change(self, before: Payload, after: Payload) -> str:
        """Return what an edit changed, for the middle of a sentence."""

    def exceeds(self, before: Payload, after: Payload) -> bool:
        """Tell whether a change gives away more, or to somebody else, than before."""

    def check(self, approval: Approval) -> None:
        """Validate the stored payload; raises InvalidInput naming the field at fault."""

    def run(self, desk: Desk, approval: Approval) -> EffectAnswer:
        """Carry the stored payload out; the same key and bytes at every try."""

    def look(self, desk: Desk, approval: Approval) -> EffectAnswer | None:
        """Ask what became of it; None when the outside provably has no record."""


def findings_of(verdict: RunNow | Park | Refuse) -> tuple[Finding, ...]:
    """Return why a verdict lets people decide; nothing where it does not."""
    return verdict.findings if isinstance(verdict, Park) else ()


def question_about(row: Approval) -> Question:
    """Return the question whether a row may still run, which must not count against itself."""
    return Question(
        customer_id=row.customer_id,
        conversation_id=row.conversation_id,
        proposal_key="",
        besides=row.id,
        stopped=False,
        tool=row.tool,
        order_id=row.order_id,
        automatic=row.automatic,
    )


def customer_of(payload: Payload) -> CustomerId | None:
    """Return the customer that a payload is about, None for a visitor's."""
    value = payload.get("customer_id")
    return CustomerId(value) if isinstance(value, str) and value else None


def order_of(payload: Payload) -> str | None:
    """Return the order that a payload names."""
    value = payload.get("order_id")
    return value if isinstance(value, str) else None
