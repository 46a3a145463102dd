"""One approval's way through the trail, told in the events of an `agentack` trace."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.errors import InvalidInput
from agent.domain.ids import ApprovalId
from agent.domain.payload import Json, Payload, parse_strict, payload_hash, proposal_key

TOOL = "supportdesk"
_SHORT_HASH = 16
_ENDS: Mapping[Status | None, str] = {
    Status.REJECTED: "rejected",
    Status.SUPERSEDED: "replaced by an edit",
    Status.EXPIRED: "nobody decided in time",
    Status.CANCELLED: "taken back",
    Status.STALE: "no longer what was approved",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253_402_300_799_999_999

# Where a line stands: time in microseconds, whether on the desk's chain, chain, seq.
Place: TypeAlias = tuple[int, bool, str, int]
# A payload, where there is one, and the hash that was made of it or seen.
_Identity: TypeAlias = tuple[Payload | None, str]
_UNKNOWN: _Identity = (None, "")


@dataclass(frozen=True, slots=True)
class Sent:
    """What an attempt sent, under which key."""

    number: int
    key: str
    request: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the tables hold of an approval, unvalidated; `use_by` is in microseconds UTC.

    `shown` are the hashes that people had seen, by (actor, verdict).
    """

    tool: str
    payload_text: str
    policy_version: str
    use_by: int | None
    shown: Mapping[tuple[str, str], str]
    sent: tuple[Sent, ...]


@dataclass(frozen=True, slots=True)
class LifeFact:
    """An event about an approval, with the status it moved to, if it moved."""

    place: Place
    kind: str
    actor: str
    data: Payload
    status: Status | None

    @property
    def at(self) -> int:
        """Return the time, in microseconds UTC."""
        return self.place[0]


class Life:
    """Takes the facts about one approval, in order; `lines` lack what all lines have."""

    def __init__(self, approval_id: str, evidence: Evidence | None) -> None:
        """Begin with what the tables hold, None where the row is gone."""
        self.lines: list[tuple[Place, Payload]] = []
        self._id = ApprovalId(approval_id)
        self._evidence = evidence
        self._automatic = False
        self._intent = ""
        self._status: Status | None = None
        self._card: LifeFact | None = None
        self._decided = 0
        # The approvals of the trace that speak for this action, or against it.
        self._yes: Payload | None = None
        self._no: Payload | None = None
        self._granted: Payload | None = None
        # What was executed, as (key, action), and whether the last claim is a line.
        self._effect: tuple[str, Payload] | None = None
        self._claimed: tuple[Place, Payload] | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether this has not ended and nothing was executed."""
        return self._effect is None and self._status not in _ENDS

    def take(self, fact: LifeFact) -> None:
        """Take the next fact in."""
        match fact.kind:
            case AuditType.PROPOSAL_PARKED | AuditType.PROPOSAL_ALLOWED:
                self._propose(fact)
            case AuditType.CARD_POSTED:
                self._card = fact
            case AuditType.VOTE_CAST:
                self._vote(fact)
            case AuditType.APPROVAL_EDITED:
                self._no = self._decide(fact, "deny", self._seen(fact, "edit"))
            case AuditType.APPROVAL_APPROVED:
                self._grant()
            case AuditType.EXECUTION_CLAIMED:
                self._claim(fact)
            case AuditType.EXECUTION_RETURNED if self._claimed is not None:
                self.lines.remove(self._claimed)
                self._claimed = self._effect = None
            case _:
                pass
        if fact.status in _ENDS and fact.status is not self._status:
            self._end(fact, _ENDS[fact.status])
        self._status = fact.status or self._status

    def _propose(self, fact: LifeFact) -> None:
        self._automatic = fact.kind == AuditType.PROPOSAL_ALLOWED
        payload, tool, version = (fact.data.get(n) for n in ("payload", "tool", "policy_version"))
        if not isinstance(payload, dict):
            payload = {}
        digest = self._hash(str(tool), payload, str(version))
        # The same call is the same intent, whichever request it comes in; payloads name customers.
        self._intent = proposal_key(customer_id="", tool=str(tool), payload=payload)
        self._add(fact.place, "action_proposed", action=self._action(str(tool), (payload, digest)))

    def _vote(self, fact: LifeFact) -> None:
        verdict = fact.data.get("verdict")
        if verdict == "approve":
            self._yes = self._decide(fact, "allow", self._seen(fact, "approve"))
        else:
            self._no = self._decide(fact, "deny", self._seen(fact, str(verdict)))

    def _grant(self) -> None:
        """Note that the quorum was complete; without a vote there is nothing to refer to."""
        self._granted = self._yes
        use_by = None if self._evidence is None else self._evidence.use_by
        if self._granted is not None and use_by is not None:
            self._granted["expires_at"] = rfc3339(use_by)

    def _decide(
        self, fact: LifeFact, decision: Literal["allow", "deny"], shown: _Identity
    ) -> Payload:
        """Add what was presented, when the card was posted if there was one, and the decision."""
        self._decided += 1
        approval: dict[str, Json] = {"approval_id": f"{self._id}:{self._decided}"}
        tool = "" if self._evidence is None else self._evidence.tool
        asked = fact if self._card is None else self._card
        self._add(asked.place, "approval_requested", action=self._action(tool, shown), **approval)
        return self._add(fact.place, "approval_decision", decision=decision, **approval)

    def _claim(self, fact: LifeFact) -> None:
        attempt, key = fact.data.get("attempt"), str(fact.data.get("key"))
        tool = "" if self._evidence is None else self._evidence.tool
        action = self._action(tool, self._request(attempt, key))
        effect = (key, action)
        if self._status is Status.UNKNOWN and effect == self._effect:
            self._claimed = None
            return
        by = self._granted or (None if self._automatic else self._no)
        approval: Payload = {} if by is None else {"approval_id": by["approval_id"]}
        line = self._add(fact.place, "action_executed", action=action, **approval)
        self._effect, self._claimed = effect, (fact.place, line)

    def _end(self, fact: LifeFact, reason: str) -> None:
        by = self._granted or self._no
        if by is None and not self._automatic:
            by = self._decide(fact, "deny", self._stored())
        approval: Payload = {} if by is None else {"approval_id": by["approval_id"]}
        self._add(fact.place, "action_blocked", reason=f"{fact.kind}: {reason}", **approval)
        if fact.kind == AuditType.APPROVAL_WITHDRAWN:
            # The customer no longer wanted it, which denies them nothing later.
            for _, line in self.lines:
                line.pop("intent_id", None)

    def _add(self, place: Place, kind: str, **more: Json) -> Payload:
        line: Payload = {"type": kind, "action_id": self._id, **more}
        if self._intent:
            line["intent_id"] = self._intent
        self.lines.append((place, line))
        return line

    def _seen(self, fact: LifeFact, verdict: str) -> _Identity:
        """Return what this person had before them: the stored payload if its hash was shown."""
        shown = fact.data.get("shown_hash")
        if not isinstance(shown, str) and self._evidence is not None:
            shown = self._evidence.shown.get((fact.actor, verdict))
        if not isinstance(shown, str):
            return _UNKNOWN
        stored = self._stored()
        is_it = len(shown) >= _SHORT_HASH and stored[1].startswith(shown)
        return stored if is_it else (None, shown)

    def _stored(self) -> _Identity:
        evidence = self._evidence
        return _UNKNOWN if evidence is None else self._read(evidence, evidence.payload_text)

    def _request(self, attempt: object, key: str) -> _Identity:
        evidence = self._evidence
        sent = () if evidence is None else evidence.sent
        found = [one.request for one in sent if one.number == attempt and one.key == key]
        return self._read(evidence, found[0]) if evidence is not None and found else _UNKNOWN

    def _read(self, evidence: Evidence, text: str) -> _Identity:
        try:
            payload = parse_strict(text)
        except (InvalidInput, ValueError):
            return _UNKNOWN
        return payload, self._hash(evidence.tool, payload, evidence.policy_version)

    def _hash(self, tool: str, payload: Payload, version: str) -> str:
        try:
            return payload_hash(
                tool=tool, payload=payload, approval_id=self._id, policy_version=version
            )
        except InvalidInput:
            return ""

    def _action(self, tool: str, identity: _Identity) -> Payload:
        payload, digest = identity
        operation = tool.replace("_", "-") or "unknown"
        parameters: Payload = {"payload_hash": digest}
        action: Payload = {
            "tool": TOOL,
            "operation": f"{operation}-automatic" if self._automatic else operation,
            "parameters": parameters,
        }
        if payload is not None:
            parameters["payload"] = payload
            order = payload.get("order_id")
            action |= {"resource": order} if isinstance(order, str) else {}
        return action


def rfc3339(micros: int) -> str:
    """Return a time in UTC; one that no calendar has is the nearest that it has."""
    moment = _EPOCH + timedelta(microseconds=min(max(micros, 0), _LAST))
    return moment.isoformat().replace("+00:00", "Z")
