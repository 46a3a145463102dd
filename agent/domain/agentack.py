"""The trail as a trace of `agentack` (PyPI), which checks that approvals bind what is executed.

Each stage of an action carries evidence of its own, never a copy of another stage's: what was
proposed is the payload in the trail, its hash made anew; what was presented is the hash that a
person voted on, with the stored payload only where that has this hash; what was executed is the
request of the attempt. Where the format has no word for what happened:

- An automatic effect is decided by the desk's policy and shown to nobody: an operation of its own,
  `issue-refund-automatic`, for which the checker's policy asks no approval.
- Each vote is an approval of its own, `apr_…:1`. An execution refers to the vote that completed
  the quorum, if the trail says that it was completed; else to nothing, or to the no before it.
- An edit, the deadline and a withdrawal end a request as a no does; the reason says which it was.
- A re-send of the same bytes under the same key is the same execution, and an attempt that
  provably did not start is none.
- Requests that have not ended and were not executed are left out and counted: a trace is of what
  is over. Refused proposals never were requests.
- Stop all is an interrupt while it is in force; one that was lifted since is not in the trace.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.domain.agentack_life import Evidence, Life, LifeFact, Place, rfc3339
from agent.domain.audit import DESK_CHAIN, AuditType
from agent.domain.payload import Payload
from agent.domain.replay import status_after
from agent.domain.trail import TrailEvent

SCHEMA_VERSION = 2
_STOPS = frozenset({AuditType.STOP_THROWN, AuditType.STOP_LIFTED})


@dataclass(frozen=True, slots=True)
class Session:
    """One trace: `name` stands on each line; requests proposed in [since, until) are in it.

    Times are in microseconds UTC; `ends_at` is the moment of the export.
    """

    name: str
    ends_at: int
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The lines of a trace, and how many requests it leaves out because they are open."""

    lines: tuple[Payload, ...]
    still_open: int


@dataclass(slots=True)
class Recorder:
    """Sees every event of the trail and keeps what a trace is made of."""

    _facts: dict[str, list[LifeFact]] = field(default_factory=dict)
    _latest: dict[str, int] = field(default_factory=dict)
    _stop: Place | None = None

    def see(self, event: TrailEvent, body: Payload | None) -> None:
        """Take one event in."""
        data = None if body is None else body.get("data")
        if body is None or not isinstance(data, dict):
            return
        # A clock that stepped back does not change the order within a chain.
        at = max(event.at, self._latest.get(event.chain, event.at))
        self._latest[event.chain] = at
        # Of one moment the desk's own chain comes last: what it stops was under way before.
        place: Place = (at, event.chain == DESK_CHAIN, event.chain, event.seq)
        if event.type in _STOPS:
            self._stop = place if event.type == AuditType.STOP_THROWN else None
        approval_id = body.get("approval_id")
        if isinstance(approval_id, str):
            fact = LifeFact(
                place, event.type, str(body.get("actor")), data, status_after(event.type, data)
            )
            self._facts.setdefault(approval_id, []).append(fact)

    def trace(self, evidence: Mapping[str, Evidence], session: Session) -> Trace:
        """Return the trace of all that was seen."""
        lines: list[tuple[Place, Payload]] = []
        still_open = 0
        for approval_id, facts in self._facts.items():
            if not session.since <= facts[0].at < session.until:
                continue
            life = Life(approval_id, evidence.get(approval_id))
            for fact in facts:
                life.take(fact)
            still_open += life.is_open
            lines += [] if life.is_open else life.lines
        if self._stop is not None:
            lines.append((self._stop, {"type": "interrupt", "reason": "Stop all"}))
        # What happened in one event keeps its order: sorting is stable.
        lines.sort(key=lambda line: line[0])
        ended: Payload = {"type": "session_end", "reason": "the export ends here"}
        head: Payload = {"schema_version": SCHEMA_VERSION, "session_id": session.name}
        return Trace(
            (
                *(head | {"timestamp": rfc3339(place[0])} | line for place, line in lines),
                head | {"timestamp": rfc3339(session.ends_at)} | ended,
            ),
            still_open,
        )
