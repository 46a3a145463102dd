"""What an edit would come to, while somebody still types: the same checks, nothing written."""

from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk
from agent.domain.approvals import Approval, Snapshot, Status
from agent.domain.deadlines import is_past
from agent.domain.decision import Decision, RefusalCode
from agent.domain.judgement import Denial, hash_shown
from agent.domain.payload import Payload
from agent.domain.roles import Actor, Tier
from agent.steps import edit
from storage import approvals, people
from storage.transaction import Tx


@dataclass(frozen=True, slots=True)
class Preview:
    """An edit that could be saved: the payload it binds, the order's money, and who decides.

    `counts` tells whether saving may be the editor's own approval too.
    """

    payload: Payload
    snapshot: Snapshot | None
    tier: Tier
    counts: bool


def preview(desk: Desk, decision: Decision) -> Preview | Denial:
    """Return what saving an edit would do, or why it cannot be; shop and provider are asked.

    Saving checks all of it again, and the person's right to it.
    """
    wanted = edit.read_for(desk, decision)
    with desk.store.transaction(write=False) as tx:
        approval = approvals.get(tx, decision.approval_id)
        now = desk.clock.now()
        if approval is None:
            return Denial(RefusalCode.NOT_FOUND, "There is no such request.")
        if approval.status is not Status.PENDING or is_past(approval.expires_at, now):
            return Denial(RefusalCode.ALREADY_DECIDED, "Nobody can change it any more.")
        if not hash_shown(approval, decision.shown_hash):
            return Denial(RefusalCode.PAYLOAD_CHANGED, "What you saw is not what is stored.")
        return _seen(tx, desk, approval, wanted, people.find(tx, decision.identity), now)


def _seen(
    tx: Tx,
    desk: Desk,
    approval: Approval,
    wanted: edit.Wanted | None,
    editor: Actor | None,
    now: datetime,
) -> Preview | Denial:
    gated = edit.gate_again(tx, desk, approval, wanted, now)
    if not isinstance(gated, edit.Gated):
        return gated
    counts = editor is not None and edit.is_vote(approval, gated.payload, editor)
    return Preview(gated.payload, gated.snapshot, gated.tier, counts)
