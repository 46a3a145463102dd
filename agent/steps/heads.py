"""Chains that have grown are signed, and the heads are copied out of the database."""

import logging
from dataclasses import dataclass
from functools import partial

from agent.desk import Desk
from agent.domain.errors import InvalidInput
from agent.domain.heads import MAX_CHAINS, Head, make_head
from agent.ports import HeadCopy
from storage import audit_heads
from storage.times import to_micros
from storage.transaction import Conflict

log = logging.getLogger(__name__)

# So much of a backlog at once; what is left is signed the next time.
_MOST_HEADS = 200


@dataclass(frozen=True, slots=True)
class Seal:
    """What heads are signed with, and where they are copied to."""

    key: bytes
    copy: HeadCopy


def sign_heads(desk: Desk, seal: Seal) -> int:
    """Sign every chain that has grown, bring the copy up to date and return how many heads it was.

    A copy that cannot be written is logged; what it lacks is made up for at the next call.
    """
    signed = 0
    while signed < _MOST_HEADS and _sign_next(desk, seal.key):
        signed += 1
    try:
        seal.copy.catch_up(partial(_newer, desk))
    except (OSError, InvalidInput) as problem:
        log.error("the copy of the signed heads cannot be written: %s", problem)  # noqa: TRY400 - the sentence says it
    return signed


def _sign_next(desk: Desk, key: bytes) -> bool:
    """Sign one head; False when nothing has grown or another replica was first."""
    try:
        with desk.store.transaction() as tx:
            tips = audit_heads.take_grown(tx, MAX_CHAINS)
            if not tips:
                return False
            before = audit_heads.newest(tx)
            at = to_micros(desk.clock.now())
            audit_heads.add(tx, make_head(before, tips, at, key), tips)
    except Conflict:
        return False
    return True


def _newer(desk: Desk, number: int) -> tuple[Head, ...]:
    with desk.store.transaction(write=False) as tx:
        return audit_heads.after(tx, number)
