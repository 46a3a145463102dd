"""A click that decides nothing: whoever asks whether clicks arrive reads here that one did."""

import re

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.roles import Channel, Identity
from storage import audit, heartbeats
from storage.transaction import Store

_CLICKED = "test_click"
# What Slack gives back is not ours any more.
_NONCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def read_nonce(value: str | None) -> str | None:
    """Return the name of a try from what came back, None for what no try is called."""
    return value if value is not None and _NONCE.fullmatch(value) else None


def note_test_click(desk: Desk, identity: Identity, nonce: str) -> None:
    """Write down that the button of a try was pressed, and by whom; only the newest is kept."""
    who = str(identity)
    with desk.store.transaction() as tx:
        heartbeats.set_setting(tx, _CLICKED, f"{nonce} {who}")
        fact = audit.Fact(AuditType.CLICK_TESTED, who, Channel.SLACK, {"nonce": nonce})
        audit.append(tx, None, desk.clock.now(), fact)


def who_clicked(store: Store, nonce: str) -> str | None:
    """Return who pressed the button of this try, None as long as nobody has."""
    with store.transaction(write=False) as tx:
        noted = heartbeats.setting(tx, _CLICKED) or ""
    tried, _, who = noted.partition(" ")
    return who if nonce and tried == nonce else None
