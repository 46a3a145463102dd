"""Signed heads: made, bound to each other, and every fault in them found and named."""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.domain.audit import GENESIS
from agent.domain.errors import InvalidInput
from agent.domain.head_checks import CheckedHeads, Coverage, Vouched, check_heads
from agent.domain.heads import (
    MAX_CHAINS,
    Head,
    Tip,
    from_line,
    head_hash,
    make_head,
    signature,
    to_line,
)
from agent.domain.payload import MAX_PAYLOAD_BYTES, canonical
from agent.domain.trail import Problem, TrailEvent

KEY = b"k" * 32
A, B = "a" * 64, "b" * 64


def heads(*tips: Tip, key: bytes = KEY) -> list[Head]:
    """Return one head a tip, each bound to the one before."""
    made: list[Head] = []
    for number, tip in enumerate(tips, start=1):
        made.append(make_head(made[-1] if made else None, [tip], number, key))
    return made


def three() -> list[Head]:
    return heads(Tip("run_1", 2, A), Tip("desk", 1, B), Tip("run_1", 5, B))


def places(problems: list[Problem]) -> list[tuple[str, int | None]]:
    return [(one.flaw.value, one.head) for one in problems]


def check(stored: list[Head], copy: list[str] | None = None) -> CheckedHeads:
    return check_heads(stored, copy or [], KEY)


# --- making ---------------------------------------------------------------------------------------


def test_a_head_is_canonical_bound_to_the_one_before_and_signed() -> None:
    first, second, _ = three()
    domain = b"supportdesk/head/v1\n"
    assert json.loads(first.body) == {
        "number": 1,
        "at": 1,
        "previous": GENESIS,
        "chains": {"run_1": {"seq": 2, "hash": A}},
    }
    assert first.body == canonical(json.loads(first.body))
    previous = hashlib.sha256(domain + first.body.encode()).hexdigest()
    assert json.loads(second.body)["previous"] == previous == head_hash(first.body)
    signed = hmac.new(KEY, domain + second.body.encode(), hashlib.sha256).hexdigest()
    assert second.signature == signed == signature(KEY, second.body)


def test_as_many_chains_as_a_head_may_have_fit_into_it() -> None:
    tips = [Tip(f"{number:064d}", 2**31 - 1, A) for number in range(MAX_CHAINS)]
    head = make_head(Head(2**31 - 2, 0, "{}", ""), tips, 2**52, KEY)
    assert MAX_PAYLOAD_BYTES // 2 < len(head.body) <= MAX_PAYLOAD_BYTES


def test_a_line_of_a_copy_is_the_head() -> None:
    (head,) = heads(Tip("run_1", 1, A))
    assert from_line(to_line(head)) == head
    assert "\n" not in to_line(head)


@pytest.mark.parametrize("line", ["", "{", "[]", '{"number": 1}', "[" * 100_000])
def test_another_line_is_refused(line: str) -> None:
    with pytest.raises(InvalidInput, match="head"):
        from_line(line)


# --- checking -------------------------------------------------------------------------------------


def test_whole_heads_have_no_problems_and_say_what_they_vouch_for() -> None:
    stored = three()
    found = check(stored, [to_line(head) for head in stored])
    assert (found.heads, found.problems) == (3, [])
    assert found.vouched == {"run_1": {2: {A: 1}, 5: {B: 3}}, "desk": {1: {B: 2}}}
    assert check([]) == CheckedHeads()


def resigned(head: Head, **changes: object) -> Head:
    """Return the head with another text, signed as if the key had been stolen."""
    body = canonical(json.loads(head.body) | changes)
    return replace(head, body=body, signature=signature(KEY, body))


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda all_: [all_[0], all_[2]], [("head", 3)]),
        (lambda all_: all_[1:], [("head", 2)]),
        (lambda all_: [replace(all_[0], signature=B), *all_[1:]], [("signature", 1)]),
        (lambda all_: [replace(all_[0], signature="\udc80"), *all_[1:]], [("signature", 1)]),
        (
            lambda all_: [*all_[:2], replace(all_[2], body=all_[2].body.replace(":5", ":4"))],
            [("signature", 3)],
        ),
        (
            lambda all_: [resigned(all_[0], chains={}), *all_[1:]],
            [("head", 2)],
        ),
        (lambda all_: [*all_[:2], replace(all_[2], at=9)], [("head", 3)]),
        (lambda all_: [*all_[:2], resigned(all_[2], number=4)], [("head", 3)]),
        (lambda all_: [*all_[:2], resigned(all_[2], chains=[])], [("head", 3)]),
        (
            lambda all_: [*all_[:2], resigned(all_[2], chains={"run_1": {"seq": "5"}})],
            [("head", 3)],
        ),
    ],
    ids=[
        "gone from the middle",
        "the first is gone",
        "another signature",
        "a signature that is no text",
        "a changed text",
        "a changed text, signed anew",
        "another time",
        "another number",
        "no chains",
        "no seq",
    ],
)
def test_a_fault_in_the_heads_is_named(
    spoil: Callable[[list[Head]], list[Head]], found: list[tuple[str, int]]
) -> None:
    assert places(check(spoil(three())).problems) == found


@pytest.mark.parametrize("body", ["", "{ }", "\udc80", '{"chains":{}}  '])
def test_a_text_that_is_no_head_is_named_also_without_a_key(body: str) -> None:
    damaged = replace(three()[0], body=body)
    assert places(check_heads([damaged], [], None).problems) == [("head", 1)]
    assert places(check([damaged]).problems) == [("signature", 1)]


def test_without_a_key_signatures_are_not_looked_at() -> None:
    stored = heads(Tip("run_1", 2, A), key=b"another" * 8)
    assert places(check(stored).problems) == [("signature", 1)]
    assert check_heads(stored, [], None).problems == []


def test_a_head_that_does_not_hold_vouches_for_nothing() -> None:
    assert check(heads(Tip("run_1", 2, A), key=b"another" * 8)).vouched == {}


# --- the copy -------------------------------------------------------------------------------------


def test_a_copy_that_is_behind_is_no_fault() -> None:
    stored = three()
    assert check(stored, [to_line(stored[0])]).problems == []


def test_a_copy_may_begin_later_but_has_no_gaps() -> None:
    one, two, three_ = (to_line(head) for head in three())
    assert check(three(), [two, three_]).problems == []
    found = check(three(), [one, three_]).problems
    assert places(found) == [("copy", 3)]
    assert str(found[0]) == "head 3: in the copy it stands behind head 1 (copy)"
    assert places(check(three(), [one, one, two]).problems) == [("copy", 1)]


def test_heads_that_only_the_copy_has_still_vouch() -> None:
    stored = three()
    found = check(stored[:1], [to_line(head) for head in stored])
    assert places(found.problems) == [("copy", 2), ("copy", 3)]
    assert str(found.problems[0]) == "head 2: is in the copy and not in the table (copy)"
    assert found.vouched["run_1"] == {2: {A: 1}, 5: {B: 3}}


def test_a_head_made_anew_differs_from_the_copy() -> None:
    stored = heads(Tip("run_1", 2, A), Tip("run_1", 3, A))
    other = heads(Tip("run_1", 2, A), Tip("run_1", 3, B))
    found = check(other, [to_line(head) for head in stored])
    assert places(found.problems) == [("copy", 2)]
    assert "differs" in found.problems[0].what
    assert found.vouched["run_1"][3] == {A: 2, B: 2}


def test_a_forged_line_of_the_copy_vouches_for_nothing() -> None:
    stored = three()
    forged = make_head(stored[2], [Tip("run_1", 99, A)], 4, b"another" * 8)
    found = check(stored, [*(to_line(head) for head in stored), to_line(forged)])
    assert places(found.problems) == [("copy", 4), ("signature", 4)]
    assert 99 not in found.vouched["run_1"]


def test_a_damaged_line_of_the_copy_is_named() -> None:
    one, two, three_ = (to_line(head) for head in three())
    (found,) = check(three(), [one, two[:40], two, three_]).problems
    assert str(found) == "line 2 of the copy: head: is not JSON (copy)"


# --- what heads cover -----------------------------------------------------------------------------


def event(chain: str, seq: int, link: str = A) -> TrailEvent:
    return TrailEvent(chain, seq, 7, "run.started", None, "{}", link)


def cover(
    vouched: Vouched, marks: dict[str, int], *events: TrailEvent
) -> list[tuple[str, str | None, int | None]]:
    coverage = Coverage(CheckedHeads(1, vouched), marks)
    for one in events:
        coverage.see(one, None)
    return [(one.flaw.value, one.chain, one.seq) for one in coverage.problems()]


def test_a_trail_that_is_covered_or_about_to_be_has_no_problems() -> None:
    vouched: Vouched = {"run_1": {2: {A: 1}}}
    assert cover(vouched, {}, event("run_1", 1), event("run_1", 2)) == []
    assert cover(vouched, {"run_1": 3}, event("run_1", 2), event("run_1", 3)) == []
    assert cover({}, {"desk": 1}, event("desk", 1)) == []
    assert cover({}, {}) == []


def test_a_cut_tail_is_named_with_its_chain_and_its_first_event() -> None:
    vouched: Vouched = {"run_1": {2: {A: 1}, 5: {A: 3, B: 2}}, "run_2": {4: {A: 2}}}
    coverage = Coverage(CheckedHeads(1, vouched), {})
    coverage.see(event("run_1", 2), None)
    cut, gone = coverage.problems()
    assert str(cut) == "chain run_1 seq 3: the end is cut off: head 2 covers seq 5 (cut)"
    assert str(gone) == "chain run_2 seq 1: the end is cut off: head 2 covers seq 4 (cut)"


def test_a_tail_cut_before_any_head_is_named_while_its_mark_is_there() -> None:
    assert cover({}, {"run_1": 3}, event("run_1", 2)) == [("cut", "run_1", 3)]


def test_the_first_event_of_a_chain_that_was_written_anew_is_named() -> None:
    vouched: Vouched = {"run_1": {1: {B: 1}, 2: {B: 2}}}
    found = cover(vouched, {}, event("run_1", 1), event("run_1", 2))
    assert found == [("rewritten", "run_1", 1)]


def test_an_event_that_nobody_will_ever_sign_is_named() -> None:
    assert cover({"run_1": {1: {A: 1}}}, {}, event("run_1", 1), event("run_1", 2)) == [
        ("unsigned", "run_1", 2)
    ]


def test_where_a_head_does_not_hold_nobody_can_say_what_is_not_covered() -> None:
    other = check(heads(Tip("run_1", 1, A), key=b"another" * 8))
    coverage = Coverage(other, {})
    coverage.see(event("run_1", 1), None)
    assert list(coverage.problems()) == []
