"""Ways to reach each status by the real steps, the people who take them, and what one sees then."""

from itertools import pairwise
from typing import Any

import pytest

from agent.domain.approvals import MOVES, Approval, EvidenceKind, Status
from agent.domain.conversation import LogEvent
from agent.domain.decision import DecideAnswer, Decided, Edited, Refused
from agent.domain.money import Money
from agent.domain.roles import Actor, Identity, Role
from agent.ports import Delivery, NotStarted
from agent.providers.ledger_payments import LedgerPayments
from agent.steps.decide import withdraw
from agent.steps.execute import execute
from agent.steps.hear import ProviderEvent, hear
from agent.steps.people import link
from agent.steps.revoke import revoke
from agent.steps.settlement import Settlement, settle_unknown
from bot.sandbox.payments_faults import FaultKind
from storage import people
from tests.story.orders import owner_of
from tests.story.test_execute import DyingPayments, Killed, ScriptedPayments, with_payments
from tests.support.desk import Story

ANA, BEN, MIA, MAX, OLU = (Identity("cli", name) for name in ("ana", "ben", "mia", "max", "olu"))
_ROLES = {
    ANA: Role.REFUND_APPROVER,
    BEN: Role.REFUND_APPROVER,
    MIA: Role.REFUND_MANAGER,
    MAX: Role.REFUND_MANAGER,
    OLU: Role.ONCALL,
}
# A fact that tells of a row which stays as it is.
_STAYS = "approval.asked_again"


def usd(minor: int) -> Money:
    """Return dollars."""
    return Money(minor, "USD")


def staff(story: Story) -> None:
    """Let everybody be at work, and the model leave the words to the desk's own templates."""
    for who, role in _ROLES.items():
        story.hire(who.subject, role)
    story.model.otherwise = " "


def actor_of(story: Story, who: Identity) -> Actor:
    """Return the person behind an identity."""
    with story.desk.store.transaction(write=False) as tx:
        found = people.find(tx, who)
    assert found is not None
    return found


def links(story: Story, who: Identity, identity: Identity) -> Actor:
    """Let an operator note that an identity is this person's too."""
    return link(story.desk, actor_of(story, who).id, identity, Identity("cli", "root"))


def parked(story: Story, amount: str = "160.00", order: str = "ORD-1001") -> Approval:
    """Let a refund wait for people."""
    before = {row.id for row in story.all(Status.PENDING)}
    story.asks_refund(story.opens_chat(owner_of(story, order)), amount, order)
    (new,) = (row for row in story.all(Status.PENDING) if row.id not in before)
    return new


def approved(story: Story, amount: str = "160.00", order: str = "ORD-1001") -> Approval:
    """Let a refund be approved; nothing of it is carried out yet."""
    waiting = parked(story, amount, order)
    assert isinstance(story.approves(MIA, waiting), Decided)
    story.tells()
    return story.approval(waiting.id)


def executing(story: Story) -> Approval:
    """Leave a claimed row at the provider's door, where its process died."""
    row = approved(story)
    dies(story, row)
    return story.approval(row.id)


def dies(story: Story, row: Approval) -> None:
    """Claim a row and die before the provider hears of it."""
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    with pytest.raises(Killed):
        execute(dying.desk, row.id)


def unknown(story: Story, *faults: FaultKind) -> Approval:
    """Leave a row whose outcome nobody knows; without faults the provider did nothing."""
    row = approved(story)
    for fault in faults or (FaultKind.TIMEOUT_BEFORE,):
        story.payments.plan(fault, 1)
    execute(story.desk, row.id)
    story.tells()
    return story.approval(row.id)


def long_unknown(story: Story) -> Approval:
    """Leave a row that stayed unknown for 23 hours, looked for twice in vain."""
    row = unknown(story)
    story.clock.advance(hours=23)
    story.sweeps()
    story.clock.advance(minutes=10)
    story.sweeps()
    return story.approval(row.id)


def turned_away(story: Story, amount: str = "5.00") -> Approval:
    """Leave an automatic refund that the provider was too busy to begin: it is to be sent again."""
    busy = ScriptedPayments(story.payments)
    busy.answer = NotStarted("429")
    chat = story.opens_chat("cus_clara")
    with_payments(story, busy).proposes(chat, story.refund_call(amount))
    return story.only(Status.APPROVED)


def executed(story: Story) -> Approval:
    """Let a refund be paid."""
    row = approved(story)
    story.rests()
    return story.approval(row.id)


def failed(story: Story) -> Approval:
    """Let the provider decline a refund."""
    row = approved(story)
    story.payments.plan(FaultKind.DECLINED, 1)
    story.rests()
    return story.approval(row.id)


def rejected(story: Story) -> Approval:
    """Let people reject a refund."""
    row = parked(story)
    story.rejects(ANA, row)
    story.rests()
    return story.approval(row.id)


def expired(story: Story) -> Approval:
    """Let nobody decide in time."""
    row = parked(story)
    story.clock.advance(minutes=30)
    story.sweeps()
    return story.approval(row.id)


def superseded(story: Story) -> Approval:
    """Let people raise the amount, so that the new row waits for somebody else."""
    row = parked(story, "120.00")
    edited(story.edits(ANA, row, usd(15000)))
    story.rests()
    return story.approval(row.id)


def withdrawn(story: Story) -> Approval:
    """Let the customer think better of it."""
    row = parked(story)
    assert isinstance(withdraw(story.desk, row.id, row.customer_id), Approval)
    story.rests()
    return story.approval(row.id)


def revoked(story: Story) -> Approval:
    """Let people take their approval back."""
    row = approved(story)
    assert isinstance(revoke(story.desk, row.id, story.order(MIA)), Approval)
    story.rests()
    return story.approval(row.id)


def stale(story: Story) -> Approval:
    """Let the order be disputed between approval and claim."""
    row = approved(story)
    disputes(story)
    story.rests()
    return story.approval(row.id)


def disputes(story: Story, order: str = "ORD-1001", *, disputed: bool = True) -> None:
    """Let the customer's bank open a dispute about an order, or close it."""
    story.happens(
        "UPDATE ledger_payments SET disputed = :d WHERE order_id = :o", d=int(disputed), o=order
    )


def pays_outside(story: Story, minor: int, order: str = "ORD-1001") -> None:
    """Let somebody pay back in the provider's own dashboard."""
    story.happens(
        "INSERT INTO ledger_refunds (id, key, order_id, amount_minor, currency, status, created_at)"
        " VALUES ('rf_shop', 'shop-1', :o, :m, 'USD', 'succeeded', 1)",
        o=order,
        m=minor,
    )


def hears(story: Story, row: Approval, event: str = "evt_1", kind: str = "refund.updated") -> bool:
    """Let the provider speak of a row's refund."""
    return hear(story.desk, ProviderEvent(event, kind, row.id))


def settles(
    story: Story,
    row: Approval,
    *,
    done: bool,
    who: Identity = MIA,
    kind: EvidenceKind = EvidenceKind.PROVIDER_RECORD,
    reference: str = "re_77",
    reason: str = "seen in the provider's dashboard",
) -> Approval | Refused:
    """Let somebody settle an unknown outcome."""
    settlement = Settlement(done, kind, reference)
    return settle_unknown(story.desk, row.id, settlement, story.order(who, reason))


def edited(answer: DecideAnswer) -> Approval:
    """Return the new row, or fail."""
    assert isinstance(answer, Edited), answer
    return answer.approval


def refused(answer: object) -> Refused:
    """Return the refusal, or fail."""
    assert isinstance(answer, Refused), answer
    return answer


def booked(story: Story, row: Approval) -> int:
    """Return what stands in the provider's own book under the row's key, in minor units."""
    book = LedgerPayments(story.desk.store, story.clock, story.desk.ids).book()
    return sum(entry.amount.minor for entry in book if entry.key == row.idempotency_key)


def chips(story: Story, row: Approval) -> list[LogEvent]:
    """Return the chips that the customer read about a row, oldest first."""
    log = story.log(row.conversation_id)
    return [e for e in log if e.type.value == "approval" and e.data["approval_id"] == row.id]


def about(story: Story, row: Approval, since: int = 0) -> list[Delivery]:
    """Return what was delivered to Slack about a row, oldest first."""
    return [
        delivery
        for delivery in story.notifier.deliveries[since:]
        if delivery.approval is not None and delivery.approval.approval.id == row.id
    ]


def told(story: Story, row: Approval) -> list[dict[str, Any]]:
    """Return what the run was told about a row by system messages, oldest first."""
    return [said for said in story.transcript(row) if said["approval_id"] == row.id]


def path(story: Story, row: Approval) -> list[Status]:
    """Return the statuses that the trail says a row went through; each step is a known move."""
    moving = [fact for fact in story.facts(row) if fact["type"] != _STAYS]
    found = [Status(f["data"]["status"]) for f in moving if "status" in f["data"]]
    known = {(move.source, move.target) for move in MOVES}
    steps = list(pairwise([None, *found]))
    assert [step for step in steps if step not in known] == []
    return found
