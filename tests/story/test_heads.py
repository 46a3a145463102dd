"""Chains that grow are signed, each once, and a trail that is cut is found out by its heads."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from typing_extensions import override

from agent.desk import Desk
from agent.domain.audit import GENESIS, AuditType, event_hash
from agent.domain.heads import MAX_CHAINS, Head, from_line
from agent.domain.ids import RunId
from agent.ports import Clock
from agent.providers.heads_file import HeadsFile
from agent.steps.heads import Seal, sign_heads
from agent.steps.verify import Witness, verify
from storage import audit, audit_heads
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import START, CountingIds, HandClock
from tests.support.intruder import intrude
from tests.support.postgres import fresh_database

KEY = b"k" * 32


@pytest.fixture
def seal(tmp_path: Path) -> Seal:
    return Seal(KEY, HeadsFile(tmp_path / "var" / "heads.jsonl"))


def happens(desk: Desk, *runs: str, at: datetime = START) -> None:
    """Let one thing happen in each of these runs, or on the desk's own chain for an empty name."""
    with desk.store.transaction() as tx:
        for run in runs:
            fact = audit.Fact(AuditType.SHOP_IMPORTED, "somebody", "cli", {})
            audit.append(tx, RunId(run) if run else None, at, fact)


def signed(desk: Desk) -> list[Head]:
    with desk.store.transaction(write=False) as tx:
        return list(audit_heads.every(tx))


def covered(head: Head) -> dict[str, int]:
    return {chain: tip["seq"] for chain, tip in json.loads(head.body)["chains"].items()}


def copied(seal: Seal) -> list[Head]:
    return [from_line(line) for line in seal.copy.lines()]


def found(desk: Desk, seal: Seal, key: bytes | None = KEY) -> list[str]:
    """Return the kinds of fault that the auditor finds, with the copy at hand."""
    return [one.flaw.value for one in verify(desk, Witness(key, seal.copy)).problems]


def test_each_head_covers_what_has_grown_since_the_one_before(story: Story, seal: Seal) -> None:
    assert sign_heads(story.desk, seal) == 0
    happens(story.desk, "run_1", "run_1", "", "run_2")
    assert sign_heads(story.desk, seal) == 1
    happens(story.desk, "run_2", "run_3")
    assert sign_heads(story.desk, seal) == 1
    assert sign_heads(story.desk, seal) == 0
    first, second = signed(story.desk)
    assert covered(first) == {"run_1": 2, "desk": 1, "run_2": 1}
    assert covered(second) == {"run_2": 2, "run_3": 1}
    assert copied(seal) == [first, second]
    report = verify(story.desk, Witness(KEY, seal.copy))
    assert (report.heads, report.problems) == (2, ())


def test_a_whole_story_is_covered(story: Story, seal: Seal) -> None:
    story.asks_refund(story.opens_chat("cus_clara"), "5.00", order="ORD-1002")
    sign_heads(story.desk, seal)
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    sign_heads(story.desk, seal)
    with story.desk.store.transaction(write=False) as tx:
        assert audit_heads.marks(tx) == {}
    assert found(story.desk, seal) == []


def test_more_chains_than_a_head_may_have_make_more_heads(story: Story, seal: Seal) -> None:
    runs = [f"run_{number:04d}" for number in range(2 * MAX_CHAINS + 1)]
    happens(story.desk, *runs)
    assert sign_heads(story.desk, seal) == 3
    assert [len(covered(head)) for head in signed(story.desk)] == [MAX_CHAINS, MAX_CHAINS, 1]
    assert copied(seal) == signed(story.desk)
    assert found(story.desk, seal) == []


def test_an_event_that_is_older_than_the_newest_head_is_covered_too(
    story: Story, seal: Seal
) -> None:
    happens(story.desk, "run_1", at=START)
    sign_heads(story.desk, seal)
    happens(story.desk, "run_1", "run_2", at=START - timedelta(days=400))
    sign_heads(story.desk, seal)
    assert covered(signed(story.desk)[1]) == {"run_1": 2, "run_2": 1}


def test_what_was_rolled_back_is_not_marked(story: Story, seal: Seal) -> None:
    def fail() -> None:
        with story.desk.store.transaction() as tx:
            audit.append(
                tx, None, START, audit.Fact(AuditType.SHOP_IMPORTED, "somebody", "cli", {})
            )
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert sign_heads(story.desk, seal) == 0


@pytest.mark.parametrize("change", ["UPDATE audit_heads SET at = 1", "DELETE FROM audit_heads"])
def test_heads_cannot_be_changed(story: Story, seal: Seal, change: str) -> None:
    happens(story.desk, "")
    sign_heads(story.desk, seal)
    with pytest.raises(Exception, match="append-only"), story.desk.store.transaction() as tx:
        tx.change(text(change))


# --- several replicas ----------------------------------------------------------------------------


@pytest.fixture
def postgres(postgres_admin: str, postgres_template: str) -> Iterator[Store]:
    """Return a store over PostgreSQL; SQLite has one writer at a time."""
    with fresh_database(postgres_admin, template=postgres_template) as url:
        store = Store(open_engine(url))
        yield store
        store.close()


@dataclass
class Interrupted(Clock):
    """A clock that lets something happen when it is asked for the first time."""

    meanwhile: list[Callable[[], object]] = field(default_factory=list)

    @override
    def now(self) -> datetime:
        """Return the start of every story."""
        while self.meanwhile:
            self.meanwhile.pop()()
        return START


def test_two_replicas_sign_one_head_a_number(postgres: Store, seal: Seal, tmp_path: Path) -> None:
    desk = tell_story(postgres, HandClock(), CountingIds()).desk
    other = Seal(KEY, HeadsFile(tmp_path / "another.jsonl"))
    happens(desk, "run_1")

    def other_is_first() -> None:
        happens(desk, "run_2")
        assert sign_heads(desk, other) == 1

    clock = Interrupted([other_is_first])
    assert sign_heads(replace(desk, clock=clock), seal) == 0
    assert [covered(head) for head in signed(desk)] == [{"run_2": 1}]
    assert sign_heads(desk, seal) == 1
    assert [covered(head) for head in signed(desk)] == [{"run_2": 1}, {"run_1": 1}]
    assert copied(seal) == signed(desk)
    assert copied(other) == signed(desk)[:1]
    assert found(desk, seal) == found(desk, other) == []


def test_a_chain_that_grows_at_this_moment_is_left_for_the_next_head(
    postgres: Store, seal: Seal
) -> None:
    desk = tell_story(postgres, HandClock(), CountingIds()).desk
    happens(desk, "run_1", "run_2")
    with postgres.transaction() as tx:
        fact = audit.Fact(AuditType.SHOP_IMPORTED, "somebody", "cli", {})
        audit.append(tx, RunId("run_1"), START, fact)
        sign_heads(desk, seal)
        assert [covered(head) for head in signed(desk)] == [{"run_2": 1}]
    sign_heads(desk, seal)
    assert covered(signed(desk)[1]) == {"run_1": 2}
    assert found(desk, seal) == []


# --- what an intruder does -----------------------------------------------------------------------


@pytest.fixture
def told(story: Story, seal: Seal) -> Desk:
    """Return a desk with three events in one run, covered by two heads."""
    happens(story.desk, "run_1", "")
    sign_heads(story.desk, seal)
    happens(story.desk, "run_1", "run_1")
    sign_heads(story.desk, seal)
    assert found(story.desk, seal) == []
    return story.desk


def places(desk: Desk, seal: Seal) -> list[str]:
    return [str(one) for one in verify(desk, Witness(KEY, seal.copy)).problems]


def test_a_cut_tail_is_named(story: Story, told: Desk, seal: Seal) -> None:
    story.damaged.append("the end of a chain is cut off")
    intrude(told.store, "DELETE FROM audit WHERE chain = 'run_1' AND seq > 1", rows=2)
    what = "chain run_1 seq 2: the end is cut off: head 2 covers seq 3 (cut)"
    assert places(told, seal) == [what]
    assert [str(one) for one in verify(told).problems] == [what]


def test_a_tail_cut_before_it_was_signed_is_named_by_its_mark(
    story: Story, told: Desk, seal: Seal
) -> None:
    story.damaged.append("the end of a chain is cut off")
    happens(told, "run_1", "run_1")
    intrude(told.store, "DELETE FROM audit WHERE chain = 'run_1' AND seq = 5")
    assert places(told, seal) == ["chain run_1 seq 5: the end is cut off: seq 5 was written (cut)"]


def test_an_event_that_was_kept_from_being_signed_is_named(
    story: Story, told: Desk, seal: Seal
) -> None:
    story.damaged.append("a mark is taken away")
    happens(told, "run_1")
    intrude(told.store, "DELETE FROM audit_grown")
    assert sign_heads(told, seal) == 0
    assert found(told, seal) == ["unsigned"]


def test_a_chain_that_was_hashed_anew_is_named(story: Story, told: Desk, seal: Seal) -> None:
    story.damaged.append("a chain is written anew")
    with told.store.transaction(write=False) as tx:
        chain = [fact for fact in audit.walk(tx) if fact.chain == "run_1"]
    link = GENESIS
    for fact in chain:
        body = fact.body.replace("somebody", "nobody")
        link = event_hash(link, body)
        intrude(
            told.store,
            "UPDATE audit SET body = :body, hash = :link WHERE chain = 'run_1' AND seq = :seq",
            body=body,
            link=link,
            seq=fact.seq,
        )
    assert places(told, seal) == [
        "chain run_1 seq 1: this is not the event that head 1 covers (rewritten)"
    ]


def test_a_missing_head_is_named(story: Story, told: Desk, seal: Seal) -> None:
    story.damaged.append("a head is taken away")
    intrude(told.store, "DELETE FROM audit_heads WHERE number = 1")
    named = "head 2: head 1 should stand here: a head is missing (head)"
    assert places(told, seal) == [named, "head 1: is in the copy and not in the table (copy)"]


def test_a_forged_head_is_named(told: Desk, seal: Seal) -> None:
    intrude(told.store, "UPDATE audit_heads SET signature = 'x' WHERE number = 2")
    assert found(told, seal) == ["signature", "copy"]
    assert found(told, Seal(KEY, HeadsFile(Path("/nowhere")))) == ["signature"]


def test_a_cut_of_trail_and_heads_together_is_found_by_the_copy(story: Story, seal: Seal) -> None:
    happens(story.desk, "run_1", "")
    sign_heads(story.desk, seal)
    happens(story.desk, "run_1", "run_1", "run_2")
    sign_heads(story.desk, seal)
    store = story.desk.store
    intrude(store, "DELETE FROM audit WHERE seq > 1 OR chain = 'run_2'", rows=3)
    intrude(store, "DELETE FROM audit_heads WHERE number = 2")
    assert verify(story.desk, Witness(KEY)).problems == ()
    cut = [
        "head 2: is in the copy and not in the table (copy)",
        "chain run_1 seq 2: the end is cut off: head 2 covers seq 3 (cut)",
        "chain run_2 seq 1: the end is cut off: head 2 covers seq 1 (cut)",
    ]
    assert places(story.desk, seal) == cut
    # The next head takes the number again; the copy keeps the one that was cut off.
    happens(story.desk, "run_3")
    sign_heads(story.desk, seal)
    assert len(copied(seal)) == 2
    assert places(story.desk, seal)[0] == "head 2: differs in the copy (copy)"


# --- the copy ------------------------------------------------------------------------------------


def test_a_copy_that_could_not_be_written_is_made_up_for(
    story: Story, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "heads.jsonl"
    folder.mkdir()
    seal = Seal(KEY, HeadsFile(folder))
    happens(story.desk, "run_1")
    assert sign_heads(story.desk, seal) == 1
    happens(story.desk, "run_2")
    assert sign_heads(story.desk, seal) == 1
    assert caplog.text.count("the copy of the signed heads cannot be written") == 2
    folder.rmdir()
    assert sign_heads(story.desk, seal) == 0
    assert copied(seal) == signed(story.desk)
    assert len(copied(seal)) == 2


def test_a_copy_that_is_damaged_at_its_end_is_left_alone_and_logged(
    story: Story, seal: Seal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "var" / "heads.jsonl"
    file.parent.mkdir()
    file.write_text("no head\n", "utf-8")
    happens(story.desk, "run_1")
    assert sign_heads(story.desk, seal) == 1
    assert "its last line is not a signed head" in caplog.text
    assert file.read_text("utf-8") == "no head\n"
    assert found(story.desk, seal) == ["copy"]
