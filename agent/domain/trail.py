"""Whether the trail is whole, and whether the stored payloads are the ones it speaks of.

Each fault is a finding with its place, never an exception: an auditor wants all of them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from typing_extensions import override

from agent.domain.audit import GENESIS, AuditType, event_hash
from agent.domain.errors import InvalidInput
from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload, canonical, parse_strict, payload_hash

_BINDING = frozenset({AuditType.PROPOSAL_PARKED, AuditType.PROPOSAL_ALLOWED})


@dataclass(frozen=True, slots=True)
class TrailEvent:
    """A row of the trail as it lies in the database; `body` is the text that was hashed."""

    chain: str
    seq: int
    at: int
    type: str
    approval_id: str | None
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class BoundPayload:
    """What the hash of an approval binds, as it lies in the database; `sent` is by attempt."""

    approval_id: ApprovalId
    tool: str
    payload_text: str
    payload_hash: str
    policy_version: str
    sent: Mapping[int, str] = field(default_factory=dict)


class Flaw(StrEnum):
    """What kind of fault a finding is."""

    GAP = "gap"
    LINK = "link"
    TEXT = "text"
    COLUMN = "column"
    TWICE = "twice"
    PAYLOAD = "payload"
    SENT = "sent"
    UNBOUND = "unbound"
    ROW_GONE = "row_gone"
    MOVE = "move"
    REPLAY = "replay"
    HEAD = "head"
    SIGNATURE = "signature"
    COPY = "copy"
    CUT = "cut"
    REWRITTEN = "rewritten"
    UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: at an event of a chain, at an approval, between the two, or at a signed head."""

    flaw: Flaw
    what: str
    chain: str | None = None
    seq: int | None = None
    approval_id: str | None = None
    head: int | None = None

    @override
    def __str__(self) -> str:
        """Return the place and the sentence."""
        places = []
        if self.head is not None:
            places.append(f"head {self.head}")
        if self.chain is not None:
            places.append(f"chain {self.chain} seq {self.seq}")
        if self.approval_id is not None:
            places.append(f"approval {self.approval_id}")
        place = f"{', '.join(places)}: " if places else ""
        return f"{place}{self.what} ({self.flaw})"


@dataclass(frozen=True, slots=True)
class Binding:
    """The event that brought an approval into being, and the hash that it bound."""

    chain: str
    seq: int
    payload_hash: str


class Observer(Protocol):
    """Sees every event of a walk over the trail, in its order."""

    def see(self, event: TrailEvent, body: Payload | None) -> None:
        """Take an event in; `body` is None where its text cannot be read."""


@dataclass(frozen=True, slots=True)
class CheckedTrail:
    """What a walk over the trail found; `bindings` are by approval id."""

    events: int
    chains: int
    bindings: Mapping[str, Binding]
    problems: tuple[Problem, ...]


def check_events(events: Iterable[TrailEvent], *observers: Observer) -> CheckedTrail:
    """Check each chain against itself; `events` come chain by chain, by seq, one at a time.

    A fault is named once: the walk goes on from the row as it is stored. Observers see what this
    walk sees, so that a long trail is read once.
    """
    problems: list[Problem] = []
    bindings: dict[str, Binding] = {}
    number, chains = 0, 0
    previous: TrailEvent | None = None
    for event in events:
        number += 1
        if previous is None or previous.chain != event.chain:
            chains += 1
            previous = None
        problems += _check_place(event, previous)
        body: Payload | None = None
        try:
            body = read_body(event.body)
        except (InvalidInput, ValueError) as error:
            problems.append(_at(event, Flaw.TEXT, f"the text is not an event's: {error}"))
        else:
            problems += _check_columns(event, body)
            problems += _bind(event, body, bindings)
        for observer in observers:
            observer.see(event, body)
        previous = event
    return CheckedTrail(number, chains, bindings, tuple(problems))


def check_payloads(
    payloads: Iterable[BoundPayload], bindings: Mapping[str, Binding]
) -> Iterator[Problem]:
    """Yield each approval whose stored bytes, sent bytes, stored hash and event do not agree."""
    for payload in payloads:
        binding = bindings.get(payload.approval_id)
        if binding is None:
            what = "no event of the trail proposes it"
            yield Problem(Flaw.UNBOUND, what, approval_id=payload.approval_id)
        problem = _payload_problem(payload)
        if problem is None and binding is not None and binding.payload_hash != payload.payload_hash:
            problem = f"the hash {payload.payload_hash} is not the one of the event"
        if problem is not None:
            yield Problem(
                Flaw.PAYLOAD,
                problem,
                None if binding is None else binding.chain,
                None if binding is None else binding.seq,
                payload.approval_id,
            )
        for attempt, sent in payload.sent.items():
            if sent != payload.payload_text:
                what = f"attempt {attempt} sent something else than the payload"
                yield Problem(Flaw.SENT, what, approval_id=payload.approval_id)


def check_rows(bindings: Mapping[str, Binding], stored: Collection[str]) -> Iterator[Problem]:
    """Yield each proposal of the trail whose approval is not among the `stored` ids."""
    for approval_id, binding in bindings.items():
        if approval_id not in stored:
            what = "the approval it proposes is gone"
            yield Problem(Flaw.ROW_GONE, what, binding.chain, binding.seq, approval_id)


def _check_place(event: TrailEvent, previous: TrailEvent | None) -> Iterator[Problem]:
    expected = 1 if previous is None else previous.seq + 1
    if event.seq != expected:
        # What the row was linked to is not there, so its link cannot be judged.
        yield _at(event, Flaw.GAP, f"seq {expected} should stand here: an event is missing")
        return
    link = GENESIS if previous is None else previous.hash
    if _hash(link, event.body) != event.hash:
        what = "the hash does not follow from the event before and this text"
        yield _at(event, Flaw.LINK, what)


def _hash(previous: str, body: str) -> str | None:
    """Return the link, None for text with half a surrogate pair, which nothing can bind."""
    try:
        return event_hash(previous, body)
    except UnicodeEncodeError:
        return None


def read_body(text: str) -> Payload:
    """Return what an event's text says; raises InvalidInput or ValueError when it says nothing."""
    body = parse_strict(text)
    if canonical(body) != text:
        raise InvalidInput("body", "not in canonical form")
    return body


def _check_columns(event: TrailEvent, body: Payload) -> Iterator[Problem]:
    for name, stored in (
        ("chain", event.chain),
        ("seq", event.seq),
        ("at", event.at),
        ("type", event.type),
        ("approval_id", event.approval_id),
    ):
        if body.get(name) != stored:
            yield _at(event, Flaw.COLUMN, f"the column {name} is not what the text says")


def _bind(event: TrailEvent, body: Payload, bindings: dict[str, Binding]) -> Iterator[Problem]:
    """Note what the hashed text of a proposal binds; the first to speak of an approval counts."""
    approval_id, data = body.get("approval_id"), body.get("data")
    if body.get("type") not in _BINDING or not isinstance(approval_id, str):
        return
    if approval_id in bindings:
        yield _at(event, Flaw.TWICE, "another event proposes this approval already")
        return
    bound = data.get("payload_hash") if isinstance(data, dict) else None
    bindings[approval_id] = Binding(event.chain, event.seq, str(bound))


def _payload_problem(payload: BoundPayload) -> str | None:
    try:
        read = parse_strict(payload.payload_text)
        actual = payload_hash(
            tool=payload.tool,
            payload=read,
            approval_id=payload.approval_id,
            policy_version=payload.policy_version,
        )
        if canonical(read) != payload.payload_text:
            return "the payload is not in canonical form"
    except (InvalidInput, ValueError) as error:
        return f"the payload cannot be read: {error}"
    if actual != payload.payload_hash:
        return "the payload does not have the hash that is stored beside it"
    return None


def _at(event: TrailEvent, flaw: Flaw, what: str) -> Problem:
    return Problem(flaw, what, event.chain, event.seq, event.approval_id)
