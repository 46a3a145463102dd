"""What is delivered twice is worked on once: the first answer is kept, and given to a repeat."""

from dataclasses import dataclass
from datetime import timedelta

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload
from agent.domain.roles import Channel, Identity
from storage import approvals, audit, seen

# Slack's last retry comes after about five minutes (facts/slack.md §1.5).
_KEPT_FOR = timedelta(minutes=15)
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Act:
    """Something that arrived through Slack, which may deliver it more than once.

    `key` is the same for each delivery. `data` is what the trail keeps of a person's act; None for
    what no person did, or what leaves a fact of its own.
    """

    key: str
    identity: Identity
    data: Payload | None = None
    approval_id: ApprovalId | None = None


def recall(desk: Desk, key: str) -> str | None:
    """Return how an earlier delivery was answered, None when there was none."""
    with desk.store.transaction(write=False) as tx:
        return seen.answer_to(tx, key)


def remember(desk: Desk, act: Act, answer: str) -> None:
    """Keep the answer after the work is committed, and write down who did what.

    A crash in between loses neither: the act is delivered again, and the steps behind it are told
    apart by the state of their rows.
    """
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        if not seen.note(tx, act.key, now, answer) or act.data is None:
            return
        about = act.approval_id
        run_id = None if about is None else approvals.run_of(tx, about)
        who, known = str(act.identity), None if run_id is None else about
        fact = audit.Fact(AuditType.SLACK_ACTED, who, Channel.SLACK, act.data, known)
        audit.append(tx, run_id, now, fact)


def forget_answers(desk: Desk) -> int:
    """Forget the answers that no delivery asks for any more; a batch at a time."""
    forgotten = 0
    while True:
        with desk.store.transaction() as tx:
            count = seen.forget(tx, desk.clock.now() - _KEPT_FOR, _BATCH)
        forgotten += count
        if count < _BATCH:
            return forgotten
