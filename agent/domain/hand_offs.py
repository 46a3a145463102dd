"""A conversation that was passed to people: how it stands, and who of them may do what. Pure."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from agent.domain.conversation import MAX_MESSAGE_CHARACTERS, storable
from agent.domain.decision import RefusalCode
from agent.domain.ids import ActorId, ConversationId, RunId
from agent.domain.judgement import Denial
from agent.domain.languages import Language
from agent.domain.payload import Payload
from agent.domain.privacy import mask_name
from agent.domain.roles import Actor, Role
from agent.domain.wording import fenced
from agent.domain.words import words_in

# Everybody with a role at the desk answers customers; deciding takes more than that.
MAY_ATTEND: tuple[Role, ...] = tuple(Role)
# A customer who was promised a person and has none after this long is a matter for on-call.
REMIND_AFTER = timedelta(minutes=15)
STAFF_EVENT, HAND_BACK_EVENT = "staff_message", "hand_back"


_WHOLE = re.compile(r"CNV_[0-9A-Z]{26}")
# Fewer characters would mean too many conversations.
_TAIL = re.compile(r"[0-9A-Z]{6,26}")


class HandOffState(StrEnum):
    """How a hand-off stands; the words of http.md's event."""

    WAITING = "waiting"
    JOINED = "joined"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class HandOff:
    """One time that people were called into a conversation; `number` counts them from 1.

    `body` holds who needs a person, why, and what led to it. `attended_by` is who answers, or who
    did at the end; `ended_by` names who gave the conversation back. `rating` is the customer's,
    None before they said.
    """

    conversation_id: ConversationId
    number: int
    run_id: RunId
    body: Payload
    opened_at: datetime
    attended_by: ActorId | None = None
    attended_name: str | None = None
    joined_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None
    reminded_at: datetime | None = None
    rating: int | None = None

    @property
    def state(self) -> HandOffState:
        """Return how it stands."""
        if self.ended_at is not None:
            return HandOffState.ENDED
        return HandOffState.WAITING if self.attended_by is None else HandOffState.JOINED

    @property
    def subject(self) -> str:
        """Return what its message in Slack is about; each time people are called has its own."""
        return subject_of(self.conversation_id, self.number)

    @property
    def customer_name(self) -> str:
        """Return the customer's name, empty where the shop knows none."""
        return str(self.body.get("name") or "")


@dataclass(frozen=True, slots=True)
class Words:
    """What somebody of the team writes to a customer.

    `key` is the writer's own mark: sent again under the same mark, it is said once.
    """

    text: str
    key: str

    def __post_init__(self) -> None:
        """Keep words that every database holds, without the blanks around them."""
        object.__setattr__(self, "text", storable(self.text).strip())


def subject_of(conversation_id: str, number: int) -> str:
    """Return the subject of a hand-off: the conversation's, with a number from the second on."""
    return f"hand_off:{conversation_id}" + ("" if number == 1 else f":{number}")


def named(body: Payload) -> tuple[ConversationId, int]:
    """Return which hand-off a message is about: its conversation, and its number there.

    Messages of earlier versions have no number: there was one in each conversation.
    """
    number = body.get("number")
    where = ConversationId(str(body.get("conversation_id")))
    return where, number if isinstance(number, int) else 1


def reminder_subject(hand_off: HandOff) -> str:
    """Return what the alert is about that nobody has come yet."""
    return f"unattended:{hand_off.conversation_id}:{hand_off.number}"


def judge_words(text: str) -> Denial | None:
    """Return why something cannot be said to a customer, None if it can."""
    if not any(unicodedata.category(one)[0] not in {"C", "Z"} for one in text):
        return Denial(RefusalCode.INVALID, "text: write something that can be read.")
    if len(text) > MAX_MESSAGE_CHARACTERS:
        words = f"text: write at most {MAX_MESSAGE_CHARACTERS:,} characters."
        return Denial(RefusalCode.INVALID, words)
    return None


def judge_attending(hand_off: HandOff | None, customer_id: str | None, by: Actor) -> Denial | None:
    """Return why a person cannot act in a conversation, None if they can.

    The role is proven already. Nobody answers themselves.
    """
    if hand_off is None:
        return Denial(RefusalCode.NOT_FOUND, "Nobody has asked for a person there.")
    if hand_off.state is HandOffState.ENDED:
        words = f"{hand_off.ended_by} has given it back: the agent answers there again."
        return Denial(RefusalCode.ALREADY_DECIDED, words)
    if customer_id is not None and customer_id in by.customer_ids():
        words = "This is your own conversation; somebody else answers you there."
        return Denial(RefusalCode.SELF_APPROVAL, words)
    return None


def judge_joining(hand_off: HandOff, by: Actor) -> Denial | None:
    """Return why a person does not take over, None if they do; another may take their place."""
    if hand_off.attended_by is not None and by.did([hand_off.attended_by]):
        return Denial(RefusalCode.ALREADY_DECIDED, "You answer there already.")
    return None


def judge_giving_back(hand_off: HandOff) -> Denial | None:
    """Return why a conversation is not given back to the agent, None if it is."""
    if hand_off.state is HandOffState.WAITING:
        words = "Nobody has taken it over yet; the agent answers there still."
        return Denial(RefusalCode.INVALID, words)
    return None


@dataclass(frozen=True, slots=True)
class Reference:
    """Which conversation somebody means: its `whole` id, or how it ends; both None for neither."""

    whole: ConversationId | None = None
    tail: str | None = None


def read_reference(typed: str) -> Reference:
    """Return what a typed reference to a conversation means."""
    upper = typed.strip().lstrip("…").upper()
    if _WHOLE.fullmatch(upper):
        return Reference(whole=ConversationId(f"cnv_{upper[4:]}"))
    return Reference(tail=upper if _TAIL.fullmatch(upper) else None)


def joined_words(language: Language, name: str) -> str:
    """Return the line that tells the customer who is there now."""
    words = words_in(language)
    return words.joined.format(name=fenced(words, name))


def ended_words(language: Language, name: str) -> str:
    """Return the line that tells the customer that the person has left."""
    words = words_in(language)
    return words.ended.format(name=fenced(words, name))


def said_for_model(name: str, text: str) -> Payload:
    """Return the system message that tells a run what a colleague has written to the customer."""
    return {"event": STAFF_EVENT, "by": name, "text": text}


def ended_for_model(name: str) -> Payload:
    """Return the system message that tells a run that it answers again."""
    return {"event": HAND_BACK_EVENT, "by": name}


def unattended_words(hand_off: HandOff, now: datetime) -> str:
    """Return the sentence for people on call about a customer whom nobody has answered."""
    known = hand_off.customer_name
    who = mask_name(known) if known else "A visitor"
    minutes = int((now - hand_off.opened_at) / timedelta(minutes=1))
    return f"{who} was promised a person {minutes} minutes ago, and nobody has answered yet."
