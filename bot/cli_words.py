"""A person's word on a request: which request is meant, what was said, and what came of it."""

from dataclasses import dataclass

import click

from agent.desk import Desk
from agent.domain.approvals import Approval, RejectCategory, Status, Verdict
from agent.domain.decision import (
    DecideAnswer,
    Decided,
    Decision,
    Edited,
    Edits,
    Voted,
)
from agent.domain.errors import InvalidInput
from agent.domain.ids import ApprovalId, RunId
from agent.domain.money import Money, parse_money
from agent.domain.roles import Channel
from agent.steps.decide import decide
from agent.tools.registry import EFFECTS
from bot.cli_describe import Sight, see
from bot.cli_text import flatten, pairs
from bot.cli_work import carry_on
from bot.cli_world import NotDone, World
from storage import approvals

_PAGE = 200
_PENDING = frozenset({Status.PENDING})


@dataclass(frozen=True, slots=True)
class Changes:
    """An edit as it is typed; `amount` is decimal text in the request's currency."""

    amount: str | None = None
    order_id: str | None = None
    to: tuple[str, ...] | None = None
    cc: tuple[str, ...] | None = None
    bcc: tuple[str, ...] | None = None
    subject: str | None = None
    body: str | None = None

    def wanted(self, approval: Approval | None) -> Edits:
        """Return the edits of a request; raises InvalidInput for an amount that is none."""
        return Edits(
            amount=_amount(approval, self.amount),
            order_id=self.order_id,
            to=self.to,
            cc=self.cc,
            bcc=self.bcc,
            subject=self.subject,
            body=self.body,
        )


@dataclass(frozen=True, slots=True)
class Word:
    """What a person says about a request."""

    verdict: Verdict
    shown_hash: str | None = None
    reason: str = ""
    category: RejectCategory | None = None
    note: str = ""
    changes: Changes = Changes()
    break_glass: bool = False


def decide_on(
    world: World, desk: Desk, approval: Approval | None, request_id: str, word: Word
) -> DecideAnswer:
    """Give the word as the person who types; an unknown request is answered by the desk as well.

    Raises InvalidInput for an amount that is none.
    """
    shown = "" if approval is None else approval.payload_hash
    return decide(
        desk,
        Decision(
            approval_id=ApprovalId(request_id) if approval is None else approval.id,
            identity=world.identity(),
            verdict=word.verdict,
            shown_hash=shown if word.shown_hash is None else word.shown_hash,
            channel=Channel.CLI,
            reason=word.reason,
            category=word.category,
            note=word.note,
            edits=word.changes.wanted(approval),
            break_glass=word.break_glass,
        ),
    )


def answer_text(verdict: Verdict, answer: Decided | Voted | Edited) -> str:
    """Return what a word that counted has done."""
    match answer:
        case Decided(approval=approval):
            return f"{verdict} stands for {approval.id}"
        case Voted(approval=approval, votes=votes):
            needed = approval.tier.approvals_needed
            role = approval.tier.role.value
            missing = f" for a {role}" if votes >= needed else ""
            vote = min(votes, needed)
            return f"{verdict} is vote {vote} of {needed}; {approval.id} still waits{missing}"
        case Edited(approval=new, superseded=old):
            changed = EFFECTS[new.tool].describe_change(old.payload, new.payload)
            return f"{verdict}: {new.id} replaces {old.id}; changed {changed}"


def follow(world: World, desk: Desk, approval: Approval) -> None:
    """Carry out what follows from a word that counted, and print how the request stands then."""
    carry_on(world, desk, approval.run_id)
    with desk.store.transaction(write=False) as tx:
        now = approvals.get(tx, approval.id) or approval
    result = [] if now.result is None else flatten("result", now.result)
    click.echo(pairs([("status", now.status.value), *result]))


def find(desk: Desk, request_id: str, wanted: frozenset[Status] = _PENDING) -> Sight | None:
    """Return the request of an id, or the one that a run's id stands for.

    A run stands for its one request of a `wanted` status, or for its newest without one. Raises
    NotDone when several are of a wanted status.
    """
    with desk.store.transaction(write=False) as tx:
        found = approvals.get(tx, ApprovalId(request_id))
        if found is None:
            found = _of_run(approvals.of_run(tx, RunId(request_id)), wanted)
        return None if found is None else see(tx, found)


def standing(desk: Desk, status: Status) -> list[Sight]:
    """Return every request of a status, oldest first."""
    found: list[Sight] = []
    with desk.store.transaction(write=False) as tx:
        after = ""
        while page := approvals.page(tx, status, after, _PAGE):
            found += [see(tx, approval) for approval in page]
            after = page[-1].id
    return found


def _amount(approval: Approval | None, text: str | None) -> Money | None:
    if approval is None or text is None:
        return None
    if approval.amount is None:
        raise InvalidInput("amount", "this request has none")
    return parse_money(text, approval.amount.currency)


def _of_run(every: tuple[Approval, ...], wanted: frozenset[Status]) -> Approval | None:
    meant = [approval for approval in every if approval.status in wanted]
    if len(meant) > 1:
        kind = "open" if wanted == _PENDING else " or ".join(sorted(wanted))
        ids = ", ".join(approval.id for approval in meant)
        raise NotDone("ambiguous", f"The run has {len(meant)} {kind} approvals: {ids}")
    return next(reversed(meant or every), None)
