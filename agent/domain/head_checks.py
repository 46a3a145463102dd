"""Whether signed heads hold, and whether the trail is still what they vouch for.

Like the checks of the trail: each fault is a finding with its place, never an exception.
"""

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from agent.domain.audit import GENESIS
from agent.domain.errors import InvalidInput
from agent.domain.heads import Head, Tip, from_line, head_hash, signature
from agent.domain.payload import Json, Payload, canonical, parse_strict
from agent.domain.trail import Flaw, Problem, TrailEvent

# chain -> seq -> hash of the event -> number of the head that says so.
Vouched: TypeAlias = dict[str, dict[int, dict[str, int]]]


@dataclass(slots=True)
class CheckedHeads:
    """What a look at the heads found."""

    heads: int = 0
    vouched: Vouched = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Tell whether every head counts, so that what none of them covers is a finding."""
        return not any(one.flaw in {Flaw.HEAD, Flaw.SIGNATURE} for one in self.problems)


def check_heads(stored: Iterable[Head], copy: Iterable[str], key: bytes | None) -> CheckedHeads:
    """Check the stored heads, in order, against each other and against the lines of a copy.

    Without a key signatures are not looked at. Stored heads that are newer than the copy are no
    fault. A head that only the copy has was cut from the table; what it covers counts all the same.
    """
    found = CheckedHeads()
    known: dict[int, Head] = {}
    before: Head | None = None
    for head in stored:
        found.heads += 1
        found.problems += _check_place(head, before)
        _check_head(found, head, key)
        known[head.number] = head
        before = head
    _check_copy(found, known, copy, key)
    return found


def _check_place(head: Head, before: Head | None) -> Iterator[Problem]:
    expected = 1 if before is None else before.number + 1
    if head.number != expected:
        # What it was bound to is not there, so that cannot be judged.
        what = f"head {expected} should stand here: a head is missing"
        yield Problem(Flaw.HEAD, what, head=head.number)
        return
    link = GENESIS if before is None else head_hash(before.body)
    body = _read(head)
    if body is not None and body.get("previous") != link:
        yield Problem(Flaw.HEAD, "it does not follow from the head before", head=head.number)


def _check_head(found: CheckedHeads, head: Head, key: bytes | None) -> None:
    """Check one head against itself; only what holds vouches for anything."""
    if key is not None and not _is_signed(head, key):
        what = "the signature is not made with this key over this text"
        found.problems.append(Problem(Flaw.SIGNATURE, what, head=head.number))
        return
    body = _read(head)
    tips = None if body is None else _tips(body.get("chains"))
    if body is None or tips is None:
        found.problems.append(Problem(Flaw.HEAD, "the text is not a head's", head=head.number))
        return
    for name, column in (("number", head.number), ("at", head.at)):
        if body.get(name) != column:
            what = f"the column {name} is not what the text says"
            found.problems.append(Problem(Flaw.HEAD, what, head=head.number))
    for tip in tips:
        hashes = found.vouched.setdefault(tip.chain, {}).setdefault(tip.seq, {})
        hashes.setdefault(tip.hash, head.number)


def _check_copy(
    found: CheckedHeads, known: Mapping[int, Head], copy: Iterable[str], key: bytes | None
) -> None:
    before: int | None = None
    for number, line in enumerate(copy, start=1):
        try:
            head = from_line(line)
        except InvalidInput as damaged:
            what = f"line {number} of the copy: {damaged}"
            found.problems.append(Problem(Flaw.COPY, what))
            continue
        if before is not None and head.number != before + 1:
            what = f"in the copy it stands behind head {before}"
            found.problems.append(Problem(Flaw.COPY, what, head=head.number))
        before = head.number
        stored = known.get(head.number)
        if stored == head:
            continue
        what = "is in the copy and not in the table" if stored is None else "differs in the copy"
        found.problems.append(Problem(Flaw.COPY, what, head=head.number))
        _check_head(found, head, key)


class Coverage:
    """Sees every event of the trail, and then says which of those that heads cover are gone."""

    def __init__(self, heads: CheckedHeads, marks: Mapping[str, int]) -> None:
        """Keep what must be there; `marks` are the newest seqs of chains that are yet to sign."""
        self._vouched = heads.vouched
        self._is_whole = heads.is_whole
        self._marks = marks
        self._last: dict[str, int] = {}
        self._rewritten: dict[str, Problem] = {}

    def see(self, event: TrailEvent, _body: Payload | None) -> None:
        """Compare an event with what was signed."""
        self._last[event.chain] = event.seq
        signed = self._vouched.get(event.chain, {}).get(event.seq, {})
        for wanted, head in signed.items():
            if wanted != event.hash:
                what = f"this is not the event that head {head} covers"
                fault = Problem(Flaw.REWRITTEN, what, event.chain, event.seq, event.approval_id)
                self._rewritten.setdefault(event.chain, fault)

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong once all was seen; of each chain the first rewritten event only."""
        yield from self._rewritten.values()
        for chain in sorted({*self._vouched, *self._marks, *self._last}):
            yield from self._check_end(chain)

    def _check_end(self, chain: str) -> Iterator[Problem]:
        last = self._last.get(chain, 0)
        signed = self._vouched.get(chain, {})
        covered, marked = max(signed, default=0), self._marks.get(chain, 0)
        if covered > last:
            head = min(signed[covered].values())
            what = f"the end is cut off: head {head} covers seq {covered}"
            yield Problem(Flaw.CUT, what, chain, last + 1)
        elif marked > last:
            yield Problem(
                Flaw.CUT, f"the end is cut off: seq {marked} was written", chain, last + 1
            )
        elif self._is_whole and last > max(covered, marked):
            what = "no head covers this event, and none is due"
            yield Problem(Flaw.UNSIGNED, what, chain, last)


def _read(head: Head) -> Payload | None:
    try:
        body = parse_strict(head.body)
        return body if canonical(body) == head.body else None
    except (InvalidInput, ValueError):
        return None


def _tips(chains: Json) -> tuple[Tip, ...] | None:
    if not isinstance(chains, dict):
        return None
    tips = []
    for chain, tip in chains.items():
        match tip:
            case {"seq": int(seq), "hash": str(link)}:
                tips.append(Tip(chain, seq, link))
            case _:
                return None
    return tuple(tips)


def _is_signed(head: Head, key: bytes) -> bool:
    # As bytes: of text, compare_digest takes ASCII only.
    made, stored = signature(key, head.body), head.signature
    return hmac.compare_digest(made.encode(), stored.encode(errors="surrogatepass"))
