"""The trail folded into what it says of each approval, and that compared with the tables.

A fact that moves an approval carries the new status in its data; the trails of earlier versions
say it by their tag alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from agent.domain.approvals import MOVES, Status
from agent.domain.audit import AuditType
from agent.domain.payload import Json, Payload
from agent.domain.trail import Flaw, Problem, TrailEvent

_PROPOSED = frozenset({AuditType.PROPOSAL_PARKED, AuditType.PROPOSAL_ALLOWED})
_IMPLIED: Mapping[str, Status] = {
    AuditType.PROPOSAL_PARKED: Status.PENDING,
    AuditType.PROPOSAL_ALLOWED: Status.APPROVED,
    AuditType.APPROVAL_APPROVED: Status.APPROVED,
    AuditType.APPROVAL_REJECTED: Status.REJECTED,
    AuditType.APPROVAL_EDITED: Status.SUPERSEDED,
    AuditType.APPROVAL_EXPIRED: Status.EXPIRED,
    AuditType.APPROVAL_WITHDRAWN: Status.CANCELLED,
    AuditType.APPROVAL_REVOKED: Status.CANCELLED,
    AuditType.APPROVAL_STALE: Status.STALE,
    AuditType.EXECUTION_CLAIMED: Status.EXECUTING,
    AuditType.EXECUTION_UNKNOWN: Status.UNKNOWN,
    AuditType.EXECUTION_RETURNED: Status.APPROVED,
}
_STATUSES = {status.value: status for status in Status}
# What runs at once is allowed and claimed in one transaction, so its row begins as executing.
_LEGAL = frozenset({(one.source, one.target) for one in MOVES} | {(None, Status.EXECUTING)})


@dataclass(frozen=True, slots=True)
class Told:
    """What the trail says of an approval so far; `chain` and `seq` are where it last said so."""

    chain: str
    seq: int
    status: Status | None = None
    tool: str | None = None
    payload_hash: str | None = None
    attempts: int = 0
    supersedes: str | None = None
    superseded_by: str | None = None
    votes: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class StoredRow:
    """What the tables say of an approval; `votes` are (actor, verdict)."""

    approval_id: str
    status: str
    tool: str
    payload_hash: str
    attempts: int
    supersedes: str | None
    superseded_by: str | None
    votes: frozenset[tuple[str, str]]


def status_after(kind: str, data: Payload) -> Status | None:
    """Return the status to which a fact about an approval moves it, None when it moves nothing."""
    said = data.get("status")
    if isinstance(said, str) and said in _STATUSES:
        return _STATUSES[said]
    if kind == AuditType.EXECUTION_ENDED:
        done = "code" not in data and data.get("provider_status") != "failed"
        return Status.EXECUTED if done else Status.FAILED
    return _IMPLIED.get(kind)


class Replay:
    """Sees every event of the trail and keeps what it says of each approval."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.told: dict[str, Told] = {}
        self.problems: list[Problem] = []

    def see(self, event: TrailEvent, body: Payload | None) -> None:
        """Take one event in; a move that the table of moves does not have is a finding."""
        if body is None:
            return
        approval_id, data, actor = body.get("approval_id"), body.get("data"), body.get("actor")
        if not isinstance(approval_id, str) or not isinstance(data, dict):
            return
        before = self.told.get(approval_id, Told(event.chain, event.seq))
        after = _apply(before, event.type, data, str(actor))
        status = status_after(event.type, data) or before.status
        if status is not before.status and (before.status, status) not in _LEGAL:
            what = f"no move leads from {before.status or 'nothing'} to {status}"
            self.problems.append(Problem(Flaw.MOVE, what, event.chain, event.seq, approval_id))
        if after is not before or status is not before.status:
            self.told[approval_id] = replace(after, chain=event.chain, seq=event.seq, status=status)


def compare(
    told: Mapping[str, Told], rows: Iterable[StoredRow], damaged: Collection[str]
) -> Iterator[Problem]:
    """Yield each approval of which trail and tables say different things.

    Of the `damaged` ones it is known already that hash and tool are not what was bound; those of
    which the trail says nothing are a finding of another kind.
    """
    for row in rows:
        one = told.get(row.approval_id)
        if one is None or one.payload_hash is None:
            continue
        names = ["status", "attempts", "supersedes", "superseded_by", "votes"]
        names += [] if row.approval_id in damaged else ["tool", "payload_hash"]
        different = [name for name in names if getattr(one, name) != getattr(row, name)]
        if different:
            what = "; ".join(
                f"{name} is {_shown(getattr(row, name))}, the trail says "
                f"{_shown(getattr(one, name))}"
                for name in different
            )
            yield Problem(Flaw.REPLAY, what, one.chain, one.seq, row.approval_id)


def _apply(told: Told, kind: str, data: Payload, actor: str) -> Told:
    if kind in _PROPOSED:
        return replace(
            told,
            tool=_text(data.get("tool")),
            payload_hash=_text(data.get("payload_hash")),
            supersedes=_text(data.get("supersedes")),
        )
    match kind, data:
        case AuditType.VOTE_CAST, {"verdict": str(verdict)}:
            return replace(told, votes=told.votes | {(actor, verdict)})
        case AuditType.APPROVAL_EDITED, {"new_approval_id": str(new)}:
            return replace(told, superseded_by=new, votes=told.votes | {(actor, "edit")})
        case AuditType.APPROVAL_ASKED_AGAIN, {"new_approval_id": str(new)}:
            return replace(told, superseded_by=new)
        case AuditType.EXECUTION_CLAIMED, {"attempt": int(attempt)}:
            return replace(told, attempts=attempt)
        case _:
            return told


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(f"{actor} {verdict}" for actor, verdict in value)) or "nobody"
    return "nothing" if value is None else str(value)
