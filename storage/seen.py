"""What Slack has delivered already, with the answer that it got: a repeat gets the same one."""

from datetime import datetime

from sqlalchemy import bindparam, delete, select, text

from storage.tables import slack_seen
from storage.times import to_micros
from storage.transaction import Tx

_ANSWER = select(slack_seen.c.answer).where(slack_seen.c.key == bindparam("which"))
_NOTE = text(
    "INSERT INTO slack_seen (key, at, answer) VALUES (:which, :at, :answer) "
    "ON CONFLICT (key) DO NOTHING"
)
_OLDEST = (
    select(slack_seen.c.key)
    .where(slack_seen.c.at < bindparam("before"))
    .order_by(slack_seen.c.at)
    .limit(bindparam("most"))
)
_FORGET = delete(slack_seen).where(slack_seen.c.key.in_(_OLDEST))


def answer_to(tx: Tx, key: str) -> str | None:
    """Return how a delivery was answered, None for one that nobody has worked on yet."""
    row = tx.one(_ANSWER, which=key)
    return None if row is None else str(row["answer"])


def note(tx: Tx, key: str, at: datetime, answer: str) -> bool:
    """Keep how a delivery was answered; false when another replica has kept its answer first."""
    return tx.change(_NOTE, which=key, at=to_micros(at), answer=answer) == 1


def forget(tx: Tx, before: datetime, most: int) -> int:
    """Forget at most so many of the deliveries before a moment, and return how many there were."""
    return tx.change(_FORGET, before=to_micros(before), most=most)
