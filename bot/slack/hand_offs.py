"""A customer who needs a person, as people see it in Slack: the message, its lines, forms; pure."""

from collections.abc import Sequence
from datetime import datetime

from agent.domain.hand_offs import HandOff, HandOffState
from agent.domain.payload import Payload
from agent.domain.privacy import Known, mask, mask_name
from bot.slack import notices
from bot.slack.blocks import (
    Block,
    Row,
    actions,
    button,
    context,
    emoji,
    fallback,
    header,
    line,
    lines,
    moment,
    ours,
    quote,
    rich,
    section,
    word,
)
from bot.slack.inputs import TEXT_MAX, field, modal, typed
from bot.slack.names import COMMAND, Action, Field, View, numbered
from bot.slack.notices import Note
from bot.slack.paging import Entry, Reel, Room, Spot, cut
from bot.slack.targets import HandOffTarget
from bot.slack.text import NAME_LIMIT, clip, visible

_LINE, _SHORT, _FALLBACK = 6_000, 300, 300
_TAIL = 6
_SPEAKERS = {
    "customer": emoji("speech_balloon"),
    "agent": emoji("robot_face"),
    "staff": emoji("technologist"),
}
_READING = Room(blocks=40, size=24_000)
_HEADINGS = {
    HandOffState.WAITING: "🙋 A customer needs a person",
    HandOffState.JOINED: "💬 A person answers a customer",
    HandOffState.ENDED: "✅ Given back to the agent",
}
_EMPTY = "Nothing has been said yet."


def hand_off_note(hand_off: HandOff) -> Note:
    """Return the message of a hand-off as it stands, with the buttons of what can be done."""
    called = notices.hand_off({**_names(hand_off), **hand_off.body})
    heading = _HEADINGS[hand_off.state]
    blocks = [
        header(heading),
        # The call's own header makes room for how it stands.
        *called.blocks[1:],
        rich(lines(*_standing(hand_off))),
        *_row(hand_off),
    ]
    text = called.text
    if hand_off.state is not HandOffState.WAITING:
        text = fallback(f"{heading}: {customer(hand_off)}")
    return Note(blocks, text)


def hand_off_line(hand_off: HandOff, body: Payload) -> Note:
    """Return one line of the thread: what somebody said, or what became of the hand-off."""
    role, text = str(body.get("role")), str(body.get("text"))
    if role not in _SPEAKERS:
        told = clip(visible(text, lines=True), _LINE)
        return Note([rich(line(emoji("information_source"), word(f" {told}")))], fallback(told))
    who = speaker(hand_off, role, body.get("by"))
    # What the agent says is for people to know of, not to read.
    shown = visible(masked(hand_off, text), lines=True)
    said = clip(shown, _LINE if role != "agent" else _SHORT)
    blocks = [rich(line(_SPEAKERS[role], word(" "), word(who, "bold")), quote(said))]
    return Note(blocks, fallback(f"{who}: {clip(shown, _FALLBACK)}"))


def reply_view(hand_off: HandOff, entries: Sequence[Entry]) -> Block:
    """Return the form for an answer, below what was said last."""
    said = [block for entry in entries for block in entry]
    element = typed(TEXT_MAX, focus=True)
    return modal(
        View.REPLY,
        "Reply",
        [
            section(f"To {customer(hand_off)}, in their chat."),
            *said,
            field(Field.TEXT, "Your answer", element, _hint(hand_off)),
        ],
        submit="Send",
        metadata=target(hand_off).text(),
    )


def conversation_view(hand_off: HandOff, reel: Reel, spot: Spot) -> Block:
    """Return a page of the conversation."""
    sheet = cut(reel, spot, _READING)
    turning = [
        _one_of(Action.HAND_OFF_DETAILS, number, label, target(hand_off, to))
        for number, label, to in ((0, "Previous", sheet.before), (1, "Next", sheet.after))
        if to is not None
    ]
    where = f" · entries {sheet.first} to {sheet.last} of {reel.total}"
    told = where if sheet.blocks else f" · {_EMPTY}"
    row = [actions(f"turn:{sheet.first}:{spot.piece}", *turning)] if turning else []
    heading = rich(line(word("Conversation", "bold"), word(told)))
    return modal(View.LOOK, "Conversation", [heading, *sheet.blocks, *row])


def hand_off_row(hand_off: HandOff, number: int) -> list[Block]:
    """Return a hand-off in a list, with the button to answer; `number` tells the buttons apart."""
    reply = _one_of(Action.HAND_OFF_REPLY, number, "Reply", target(hand_off))
    return [
        rich(
            lines(
                [word(customer(hand_off), "bold"), word("  "), word(tail(hand_off), "code")],
                *_standing(hand_off, short=True),
            )
        ),
        actions(f"hand_off:{hand_off.subject}", reply),
    ]


def customer(hand_off: HandOff) -> str:
    """Return who needs a person, masked as on a card."""
    known = hand_off.customer_name
    return clip(visible(mask_name(known)), NAME_LIMIT) if known else "A visitor"


def speaker(hand_off: HandOff, role: str, by: object) -> str:
    """Return who said something."""
    match role:
        case "customer":
            return customer(hand_off)
        case "staff" if isinstance(by, str):
            return clip(visible(by), NAME_LIMIT)
        case "staff":
            return "Our team"
        case _:
            return "The agent"


def masked(hand_off: HandOff, text: str) -> str:
    """Return a text of the conversation as a channel may read it."""
    return mask(text, Known(hand_off.customer_name))


def tail(hand_off: HandOff) -> str:
    """Return the end of the conversation's id, by which the command knows it."""
    return hand_off.conversation_id[-_TAIL:]


def target(hand_off: HandOff, spot: Spot | None = None) -> HandOffTarget:
    """Return what a button about a hand-off carries."""
    at = spot or Spot()
    return HandOffTarget(
        conversation=hand_off.conversation_id,
        number=hand_off.number,
        entry=at.entry,
        piece=at.piece,
    )


def _one_of(action: Action, number: int, label: str, about: HandOffTarget) -> Block:
    """Return one of several buttons of a kind in the same place."""
    return button(action, label, about.text()) | {"action_id": numbered(action, number)}


def _names(hand_off: HandOff) -> Payload:
    return {"conversation_id": hand_off.conversation_id, "run_id": hand_off.run_id}


def _standing(hand_off: HandOff, *, short: bool = False) -> list[Row]:
    """Return how it stands in a line or two."""
    rows: list[Row] = []
    match hand_off.state:
        case HandOffState.WAITING:
            rows.append([word("⏳ Waiting since "), moment(hand_off.opened_at, "bold")])
        case HandOffState.JOINED:
            rows.append(_by("💬", hand_off.attended_name, " answers since ", hand_off.joined_at))
        case HandOffState.ENDED:
            rows.append(_by("✅", hand_off.ended_by, " gave it back ", hand_off.ended_at))
    if hand_off.rating is not None and not short:
        stars = f"{'★' * hand_off.rating}{'☆' * (5 - hand_off.rating)}"
        rows.append([word(f"The customer rated the help: {stars} {hand_off.rating} of 5")])
    return rows


def _by(sign: str, name: str | None, what: str, at: datetime | None) -> Row:
    who = clip(visible(name or "somebody"), NAME_LIMIT)
    when = [] if at is None else [moment(at)]
    return [word(f"{sign} "), word(who, "bold"), word(what), *when]


def _row(hand_off: HandOff) -> list[Block]:
    """Return the row of buttons and how to answer; a new id whenever the row changes."""
    value = target(hand_off).text()
    details = button(Action.HAND_OFF_DETAILS, "Details", value)
    row_id = f"hand_off:{hand_off.subject}:{hand_off.state}"
    if hand_off.state is HandOffState.ENDED:
        return [actions(row_id, details)]
    waits = hand_off.state is HandOffState.WAITING
    offered = [
        button(Action.HAND_OFF_REPLY, "Reply", value, "primary" if waits else None),
        button(Action.HAND_OFF_JOIN, "Take over", value),
        details,
        *([] if waits else [button(Action.HAND_OFF_GIVE_BACK, "Give back", value)]),
    ]
    how = (
        f"Answer with Reply, or type `{COMMAND} reply {tail(hand_off)} …` anywhere. What is "
        "written in this thread stays here; what the customer writes is shown in it."
    )
    return [actions(row_id, *offered), context(ours(how))]


def _hint(hand_off: HandOff) -> str:
    if hand_off.state is HandOffState.WAITING:
        return "The customer reads this at once, with your name. The agent is silent from then on."
    return "The customer reads this at once, with your name."


def said_entry(hand_off: HandOff, role: str, by: object, text: str) -> Entry:
    """Return something that was said, for the form that answers it."""
    who = speaker(hand_off, role, by)
    shown = clip(visible(masked(hand_off, text), lines=True), 1_000)
    return [rich(line(word(who, "bold")), quote(shown))]
