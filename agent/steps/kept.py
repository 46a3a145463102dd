"""What a person wants done that takes longer than they can wait: a row until it is answered."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, assert_never

from pydantic import TypeAdapter

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval
from agent.domain.decision import (
    DecideAnswer,
    Decided,
    Decision,
    Edited,
    RefusalCode,
    Refused,
    ReplyTo,
    Voted,
)
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import DeliveryKind
from agent.steps.ask_again import ask_again
from agent.steps.decide import Unproven, decide_at_once, note_unknown_click
from agent.steps.execute import report_corrupt
from agent.steps.outcomes import slack_message
from agent.steps.permission import Order
from agent.steps.settlement import Settlement, settle_unknown
from storage import clicks, outbox
from storage.outbox import Message, OutboxRow

DAMAGED = "The stored request is damaged. Nobody can decide it; tell the people on call."
# More than every question to the outside on the way, so that nobody else takes it up meanwhile.
LEASE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Settling:
    """An unknown outcome is to be settled by what a person has seen."""

    approval_id: ApprovalId
    settlement: Settlement
    order: Order


@dataclass(frozen=True, slots=True)
class AskingAgain:
    """What lapsed is to be put before people once more."""

    approval_id: ApprovalId
    order: Order


Wish: TypeAlias = Decision | Settling | AskingAgain
WishAnswer: TypeAlias = DecideAnswer | Approval | Unproven

_ADAPTERS: dict[str, TypeAdapter[Wish]] = {
    "decide": TypeAdapter(Decision),
    "settle": TypeAdapter(Settling),
    "ask_again": TypeAdapter(AskingAgain),
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A wish as it was read back, and where the person reads what became of it."""

    wish: Wish
    reply_to: ReplyTo


def keep(desk: Desk, wish: Wish, reply_to: ReplyTo) -> str:
    """Store a wish that this process works on right now, and return the id of its row.

    Should the process end on the way, another takes the row up when its lease has run out.
    """
    row = message(desk, wish, reply_to, f"click:{desk.ids.new('out')}")
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        outbox.add(tx, now, row)
        outbox.lease(tx, row.id, desk.replica, now + LEASE)
    return row.id


def message(desk: Desk, wish: Wish, reply_to: ReplyTo, key: str) -> Message:
    """Return the row of a wish; `key` is unique among those that wait."""
    kind = _kind(wish)
    body: Payload = {
        "wish": _ADAPTERS[kind].dump_python(wish, mode="json"),
        "channel": reply_to.channel,
        "user": reply_to.user,
    }
    about = wish.approval_id
    return Message(desk.ids.new("out"), clicks.LANE, kind, key, body, approval_id=about)


def read(row: OutboxRow) -> Kept:
    """Read a row back; raises ValueError or KeyError for what this version did not write."""
    body = row.body
    wish = _ADAPTERS[row.kind].validate_python(body["wish"])
    return Kept(wish, ReplyTo(str(body["channel"]), str(body["user"])))


def carry_out(desk: Desk, wish: Wish) -> WishAnswer:
    """Do what is wanted; a damaged row is reported and refused."""
    if isinstance(wish, Decision):
        return decide_at_once(desk, wish)
    try:
        if isinstance(wish, Settling):
            return settle_unknown(desk, wish.approval_id, wish.settlement, wish.order)
        return ask_again(desk, wish.approval_id, wish.order)
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        code = RefusalCode.PAYLOAD_CHANGED
        noted: Payload = {"code": code.value, "approval_id": corrupt.approval_id}
        note_unknown_click(desk, wish.order.identity, Channel.SLACK, noted)
        return Refused(code, DAMAGED)


def finish(desk: Desk, row_id: str, reply_to: ReplyTo | None, told: str = "") -> None:
    """Forget a wish that was answered, and let the person read it where nobody waited for it."""
    with desk.store.transaction() as tx:
        if outbox.drop(tx, row_id) and reply_to is not None:
            outbox.add(tx, desk.clock.now(), whisper(desk, reply_to, told))
    desk.wake(Lane.SLACK)


def hand_over(desk: Desk, row_id: str) -> None:
    """Let a worker go on with a wish for which more has to be read."""
    with desk.store.transaction() as tx:
        clicks.pass_on(tx, row_id, desk.clock.now())
    desk.wake(Lane.CLICK)


def whisper(desk: Desk, reply_to: ReplyTo, text: str) -> Message:
    """Return a message that one person alone reads."""
    body: Payload = {"channel": reply_to.channel, "user": reply_to.user, "text": text}
    key = f"ephemeral:{desk.ids.new('out')}"
    return slack_message(desk, DeliveryKind.EPHEMERAL, key, body)


def words(wish: Wish, answer: DecideAnswer | Approval) -> str:
    """Return what a person reads of an answer that comes in a message of its own."""
    match answer:
        case Refused(message=message):
            return message
        case Decided(approval=approval):
            return f"Your word counts: the request is {approval.status}."
        case Voted():
            return "Your approval counts. It takes one more person."
        case Edited():
            return "Your edit is saved."
        case Approval() if isinstance(wish, AskingAgain):
            return "Asked again: the new card is in the approvals channel."
        case Approval(result=result) if (result or {}).get("settled_by") is not None:
            return "It is settled."
        case Approval(status=status):
            return (
                "The other side was asked once more and has a record of its own: the request is "
                f"{status}."
            )
        case _:
            assert_never(answer)


def _kind(wish: Wish) -> str:
    match wish:
        case Decision():
            return "decide"
        case Settling():
            return "settle"
        case AskingAgain():
            return "ask_again"
        case _:
            assert_never(wish)
