"""The card in each state, by name."""

from dataclasses import replace
from datetime import timedelta

from agent.domain.approvals import Status
from agent.domain.asks import Ask, AskedOf
from agent.domain.ids import ActorId
from agent.domain.payload import Payload
from agent.domain.reviews import Review, ReviewState
from agent.domain.roles import Role, Tier
from bot.slack.blocks import Block
from bot.slack.cards import Card, approval_card
from bot.slack.notices import Note, thread_line
from bot.slack.reviews import review_note
from tests.pictures.requests import (
    NEWER,
    NOW,
    PEOPLE,
    email,
    flag,
    refund,
    seen,
)
from tests.support.builders import ANN, BOB, CUSTOMER, MIA, vote
from tests.support.doubles import START

_S = Status
_ANA, _BEN = vote(ANN, "Ana Ribeiro", at=NOW), vote(BOB, "Ben Okafor", at=NOW)
_MIA = vote(MIA, "Mia Lindqvist", at=NOW)
_URL = "https://shopstream.slack.com/archives/C07APPROVALS/p1"
_TOOLS = {"refund": refund, "email": email, "flag": flag}
_DONE: dict[str, Payload] = {
    "refund": {"refund_id": "re_3Nxy81", "provider_status": "succeeded"},
    "email": {"message_id": "m1@supportdesk", "reply": "250 2.0.0 Ok: queued as 4F1A"},
    "flag": {"flag_id": "flg_01ARZ3NDEK", "action": "hold"},
}
_NO: dict[str, Payload] = {
    "refund": {"code": "insufficient_funds", "message": "The balance is too low"},
    "email": {"code": "550", "message": "No such mailbox"},
    "flag": {"code": "unknown_customer", "message": "There is no such customer"},
}
_REASON = "The return window of 30 days ended on 3 November."
_SETTLED: Payload = {
    "settled_by": "Mia Lindqvist",
    "evidence": "provider_record",
    "reference": "re_3Nxy81",
    "note": "Seen in the dashboard.",
}
_REVOKED: Payload = {"revoked_by": "Mia Lindqvist", "reason": "The parcel turned up."}


def cards() -> dict[str, Card]:
    """Return every state of every tool, and what else can stand on a card."""
    drawn: dict[str, Card] = {}
    for tool in _TOOLS:
        drawn |= {f"{tool} {name}": card for name, card in _states(tool).items()}
    return drawn | _beside()


def _states(tool: str) -> dict[str, Card]:
    make, done, ended = _TOOLS[tool], _DONE[tool], NOW + timedelta(minutes=1)
    again = "" if tool == "email" else "Once more, and it is true."
    rejected = vote(ANN, "Ana Ribeiro", verdict="reject", reason=_REASON, category="not_eligible")
    views = {
        "pending": seen(make()),
        "approved": seen(make(status=_S.APPROVED, use_by=NOW + timedelta(minutes=15)), _ANA),
        "executing": seen(make(status=_S.EXECUTING), _ANA),
        "executed": seen(make(status=_S.EXECUTED, result=done), _ANA),
        "automatic": seen(make(status=_S.EXECUTED, automatic=True, findings=(), result=done)),
        "failed": seen(make(status=_S.FAILED, result=_NO[tool]), _ANA),
        "unknown": seen(make(status=_S.UNKNOWN), _ANA),
        "settled": seen(make(status=_S.EXECUTED, result=_SETTLED, ended_at=ended), _ANA),
        "stale": seen(make(status=_S.STALE, result={"problem": "It is disputed."}), _ANA),
        "rejected": seen(make(status=_S.REJECTED), replace(rejected, at=NOW)),
        "expired": seen(make(status=_S.EXPIRED)),
        "expired unseen": seen(make(status=_S.EXPIRED, result={"unseen": True})),
        "superseded": seen(
            make(status=_S.SUPERSEDED, superseded_by=NEWER),
            replace(_ANA, verdict="edit", reason=again),
        ),
        "withdrawn": seen(make(status=_S.CANCELLED, ended_at=ended)),
        "revoked": seen(make(status=_S.CANCELLED, result=_REVOKED, ended_at=ended), _ANA),
    }
    return {
        name: approval_card(view, NOW, PEOPLE, replacement_url=_URL) for name, view in views.items()
    }


def _beside() -> dict[str, Card]:
    two, glass = Tier(Role.REFUND_MANAGER, 2), replace(_MIA, break_glass=True)
    approver = replace(_ANA, roles=frozenset({Role.REFUND_APPROVER}))
    edited = {"original": refund().payload, "edited_by": (ANN,), "revision": 2}
    before = {**email().payload, "subject": "Your chair", "bcc": []}
    asked = (_ask(AskedOf.CUSTOMER, "Which leg is it?", "The left one at the back."),)
    waiting = (*asked, _ask(AskedOf.AGENT, "Was a photo sent?", None))
    words = tuple(f"{'It wobbles, and it wobbles. ' * 90}" for _ in range(3))
    views = {
        "one of two": seen(refund("1240.00", tier=two), approver),
        "a manager is missing": seen(refund("1240.00", tier=two), approver, _BEN),
        "expired quorum": seen(refund("1240.00", tier=two, status=_S.EXPIRED), approver),
        "glass broken": seen(
            refund("1240.00", tier=two, status=_S.EXECUTED, result=_DONE["refund"]),
            replace(glass, reason="Both managers are on a plane, and the customer has a lawyer."),
        ),
        "edited refund": seen(refund("120.00", **edited)),
        "edited email": seen(email(original=before, edited_by=(ANN, BOB), revision=3)),
        "taken and escalated": seen(
            refund(
                taken_by="Mia Lindqvist",
                taken_at=NOW,
                escalations=1,
                expires_at=START + timedelta(hours=1),
            )
        ),
        "stopped": seen(refund(), stopped=True),
        "stopped approved": seen(
            refund(status=_S.APPROVED, use_by=NOW + timedelta(minutes=15)), _ANA, stopped=True
        ),
        "asked": replace(seen(refund()), asks=waiting),
        "too long": seen(refund(), words=words),
        "too long email": seen(email(payload={**email().payload, "body": "Dear you.\n" * 900})),
        "hostile": seen(
            refund(model_reason="*bold* <!channel> `x` \u202egpj.exe", order_id="ORD-1\nPaid"),
            words=("<https://evil.example|Approve here> :tada: \u200b", "call me: +49 171 1234567"),
        ),
    }
    drawn = {name: approval_card(view, NOW, PEOPLE) for name, view in views.items()}
    return drawn | {"without a table": approval_card(seen(refund()), NOW, PEOPLE, classic=True)}


def _ask(of: AskedOf, question: str, answer: str | None) -> Ask:
    shown = refund()
    return Ask(
        id=f"ask_{of.value}",
        approval_id=shown.id,
        conversation_id=shown.conversation_id,
        run_id=shown.run_id,
        asked_of=of,
        actor_id=ActorId("act_ana"),
        actor_name="Ana Ribeiro",
        question=question,
        asked_at=NOW,
        answered_at=None if answer is None else NOW,
        answer=answer,
        late=False,
    )


def notes() -> dict[str, Note]:
    """Return the lines under a card, and the looks afterwards."""
    paid = seen(refund("40.00", status=_S.EXECUTED, result=_DONE["refund"]), _ANA)
    ran = seen(
        refund("40.00", automatic=True, findings=(), status=_S.EXECUTED, result=_DONE["refund"])
    )
    looked = Review(ran.approval.id, CUSTOMER, "large", ReviewState.OPEN, START, None, None, None)
    flagged = replace(
        looked,
        state=ReviewState.FLAGGED,
        answered_at=NOW,
        actor_name="Mia Lindqvist",
        reason="It was the wrong order.",
    )
    return {
        "line approved": thread_line(paid, _S.APPROVED),
        "line executed": thread_line(paid, _S.EXECUTED),
        "review open": review_note(ran, looked),
        "review flagged": review_note(ran, flagged),
    }


def messages() -> dict[str, list[Block]]:
    """Return the blocks of every message here, by name."""
    return {name: one.blocks for name, one in (cards() | notes()).items()}
