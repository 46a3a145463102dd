"""The customer's message becomes an event and a queued run, in one transaction."""

import hashlib
import unicodedata
from dataclasses import dataclass

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.conversation import MAX_MESSAGE_CHARACTERS, EventType, Run, RunState
from agent.domain.errors import InvalidInput
from agent.domain.ids import ConversationId, CustomerId, RunId
from agent.domain.languages import ENGLISH, Language
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.steps.hand_off_thread import mirror
from agent.steps.reply import hear_customer
from agent.tools.registry import TOOLS_VERSION
from storage import audit, conversations, outbox, runs
from storage.conversations import Entry, SentMessage


@dataclass(frozen=True, slots=True)
class Opened:
    """A new conversation; the token is the anonymous visitor's only key to it."""

    conversation_id: ConversationId
    anonymous_token: str | None


def open_conversation(
    desk: Desk, customer_id: CustomerId | None, language: Language = ENGLISH
) -> Opened:
    """Start a conversation of a customer, or of an anonymous visitor when `customer_id` is None.

    `language` is the one in which the customer reads the desk's own words.
    """
    conversation_id = ConversationId(desk.ids.new("cnv"))
    token = desk.ids.secret() if customer_id is None else None
    with desk.store.transaction() as tx:
        conversations.create(
            tx,
            conversation_id,
            customer_id,
            None if token is None else token_hash(token),
            desk.clock.now(),
            language,
        )
    return Opened(conversation_id, token)


def receive(
    desk: Desk,
    conversation_id: ConversationId,
    client_id: str,
    text: str,
    language: Language | None = None,
    *,
    by_visitor: bool = False,
) -> SentMessage:
    """Store a message and queue its run; the same `client_id` again returns the first answer.

    `language` is the one the customer has chosen since, None where they chose none. What a visitor
    wrote is answered to a visitor, whoever signs in before it is.
    The first message after a question of the team is the answer to it (reply.py).

    Raises InvalidInput for empty or too long text and LookupError for an unknown conversation.
    """
    _check(text)
    started_by: Payload = {"by_visitor": True} if by_visitor else {}
    sent, for_staff = _store(desk, conversation_id, client_id, text, language, started_by)
    desk.wake(Lane.TURN)
    if for_staff:
        desk.wake(Lane.SLACK)
    return sent


def attach(desk: Desk, anonymous_token: str, customer_id: CustomerId) -> bool:
    """Give an anonymous conversation to a signed-in customer; False if it is not to be had."""
    hashed = token_hash(anonymous_token)
    with desk.store.transaction() as tx:
        found = conversations.by_token(tx, hashed)
        if found is None or not conversations.attach(tx, hashed, customer_id):
            return False
        data: Payload = {"conversation_id": found.id, "customer_id": customer_id}
        fact = audit.Fact(AuditType.CONVERSATION_ATTACHED, "customer", Channel.CHAT, data)
        audit.append(tx, None, desk.clock.now(), fact)
        return True


def stop(desk: Desk, conversation_id: ConversationId) -> None:
    """End the generation under way, or about to begin; requests that wait for people stay."""
    with desk.store.transaction() as tx:
        conversations.lock(tx, conversation_id)
        conversations.stop_turn(tx, conversation_id, desk.clock.now())
    desk.wake(Lane.TURN)


def token_hash(token: str) -> str:
    """Return what is stored of a bearer token: its sha256 in hex."""
    return hashlib.sha256(token.encode()).hexdigest()


def _store(
    desk: Desk,
    conversation_id: ConversationId,
    client_id: str,
    text: str,
    language: Language | None,
    started_by: Payload,
) -> tuple[SentMessage, bool]:
    """Return where the message landed, and whether the team is to read it in Slack."""
    with desk.store.transaction() as tx:
        conversations.lock(tx, conversation_id)
        earlier = conversations.sent(tx, conversation_id, client_id)
        if earlier is not None:
            return earlier, False
        if language is not None:
            conversations.speak(tx, conversation_id, language)
        now = desk.clock.now()
        run_id, message_id = RunId(desk.ids.new("run")), desk.ids.new("msg")
        entry = Entry(
            id=message_id,
            type=EventType.MESSAGE,
            # The client knows by its own id which of its messages this is.
            data={
                "message_id": message_id,
                "client_id": client_id,
                "role": "customer",
                "text": text,
            },
            run_id=run_id,
            client_id=client_id,
        )
        seq = conversations.append(tx, conversation_id, now, entry)
        shown = mirror(tx, desk, conversation_id, now, entry.data)
        answers = hear_customer(tx, desk, conversation_id, text, now)
        runs.add(
            tx,
            Run(
                id=run_id,
                conversation_id=conversation_id,
                message_id=message_id,
                state=RunState.QUEUED,
                step=0,
                created_at=now,
                updated_at=now,
                error=None,
                tools_version=TOOLS_VERSION,
            ),
        )
        outbox.add(
            tx,
            now,
            outbox.Message(
                id=desk.ids.new("out"),
                lane="turn",
                kind="message",
                key=f"message:{message_id}",
                body=started_by if answers is None else {**started_by, "answers": answers},
                conversation_id=conversation_id,
                run_id=run_id,
            ),
        )
        received = audit.Fact(
            AuditType.MESSAGE_RECEIVED,
            "customer",
            Channel.CHAT,
            {"message_id": message_id, "seq": seq, "characters": len(text)},
        )
        audit.append(tx, run_id, now, received)
        return SentMessage(message_id, run_id, seq, text), shown or answers is not None


def _check(text: str) -> None:
    if not text.strip():
        raise InvalidInput("text", "is empty")
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise InvalidInput("text", f"is longer than {MAX_MESSAGE_CHARACTERS} characters")
    if any(character == "\0" or unicodedata.category(character) == "Cs" for character in text):
        raise InvalidInput(
            "text", "holds characters that are no text (NUL or half a surrogate pair)"
        )
