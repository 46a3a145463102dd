"""Two desks on one PostgreSQL act as one; on one SQLite file there is no second."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.support.invariants import check_invariants
from tests.support.outside import eventually
from tests.support.postgres import fresh_database
from tests.support.process import READY_S, Chat, DeskProcess, made_desk, running_desk
from tests.support.reader import Screen, patient_client, reads_on

PEOPLE = ("ana", "ben", "mia", "max")
REPLICAS = "SELECT replica FROM heartbeats WHERE job = 'replica' AND replica LIKE 'srv-%'"


class Pair(NamedTuple):
    """Two desks on one database, and the name under which the first holds its leases."""

    first: DeskProcess
    second: DeskProcess
    first_name: str


@pytest.fixture(scope="module")
def both(
    postgres_admin: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[DeskProcess, DeskProcess, str]]:
    """Run two desks; the people's tokens are those that the second gave out."""
    with ExitStack() as held:
        url = held.enter_context(fresh_database(postgres_admin))
        env = {"SWEEP_INTERVAL_S": "1", "OFFLINE_PACE_MS": "15"}
        first = held.enter_context(running_desk(tmp_path_factory.mktemp("first"), url, **env))
        (name,) = [row["replica"] for row in first.rows(REPLICAS)]
        second = held.enter_context(running_desk(tmp_path_factory.mktemp("second"), url, **env))
        first.signs_in_as_at(second)
        yield first, second, name


@pytest.fixture
def pair(both: tuple[DeskProcess, DeskProcess, str]) -> Iterator[Pair]:
    """Yield the two desks; afterwards every invariant holds."""
    yield Pair(*both)
    alive = both[0] if both[0].is_running else both[1]
    check_invariants(alive.database_url, alive.payments())


@pytest.mark.parametrize("amount", [71, 72, 73])
def test_of_ten_words_at_once_one_counts(pair: Pair, amount: int) -> None:
    chat = pair.first.opens_chat("cus_david")
    approval = chat.parks(f"please refund ${amount} on ORD-1005")

    def speaks(number: int) -> httpx.Response:
        desk = (pair.first, pair.second)[number % 2]
        who = desk.staff(PEOPLE[number % 4])
        if number % 3:
            return desk.decides("approve", approval, who)
        said = {"category": "other", "reason": "Another desk said no."}
        return desk.decides("reject", approval, who, **said)

    with ThreadPoolExecutor(10) as together:
        answers = list(together.map(speaks, range(10)))
    assert Counter(a.status_code for a in answers) == {200: 1, 409: 9}
    losers = [a.json() for a in answers if a.status_code == httpx.codes.CONFLICT]
    (vote,) = pair.second.becomes(approval["id"], "executed", "rejected")["decisions"]
    named = {name: vote[name] for name in ("actor", "verdict", "channel", "at")}
    assert [loser["code"] for loser in losers] == ["already_decided"] * 9
    assert [loser["decided"] for loser in losers] == [named] * 9
    paid = [p for p in pair.first.payments() if p["amount"]["minor"] == amount * 100]
    assert len(paid) == (vote["verdict"] == "approve")
    assert f"{amount}.00 USD" in chat.reads(
        "refunded" if vote["verdict"] == "approve" else "declined"
    )


def test_an_answer_that_one_desk_makes_is_read_at_both_while_it_comes(pair: Pair) -> None:
    chat = pair.first.opens_chat("cus_priya")
    ends = [Chat(desk, chat.customer_id, chat.conversation_id) for desk in pair[:2]]
    screens = [Screen(), Screen()]

    def watches(number: int) -> bool:
        end = ends[number]
        with patient_client(end.desk.url) as client:
            return reads_on(client, end.path, end.who, screens[number], has_two_answers)

    with ThreadPoolExecutor(2) as together:
        watching = [together.submit(watches, number) for number in range(2)]
        for end in ends:
            eventually(lambda: [s.status for s in screens] == ["idle"] * 2, "two idle screens")
            end.says("where is ORD-1004?")
        assert [one.result() for one in watching] == [True, True]
    assert screens[0].lines == screens[1].lines
    for screen in screens:
        # Two answers of some forty words, in pieces.
        assert screen.begun >= 2
        assert screen.drafts >= 6


def has_two_answers(screen: Screen) -> bool:
    return len(screen.texts("agent")) == 2


def test_both_desks_together_let_five_small_refunds_run(pair: Pair) -> None:
    orders = {
        "cus_clara": ("ORD-1001", "ORD-1002", "ORD-1013"),
        "cus_ben": ("ORD-1003", "ORD-1008", "ORD-1016"),
        "cus_sofia": ("ORD-1017",),
        "cus_david": ("ORD-1015",),
    }
    wishes = [(who, order) for who, theirs in orders.items() for order in theirs]

    def asks(number: int) -> str:
        who, order = wishes[number]
        return (pair.first, pair.second)[number % 2].opens_chat(who).says(f"refund $3 on {order}")

    with ThreadPoolExecutor(8) as together:
        said = list(together.map(asks, range(8)))
    assert Counter("Done" in words for words in said) == {True: 5, False: 3}
    assert len([p for p in pair.first.payments() if p["amount"]["minor"] == 300]) == 5
    opened = "SELECT count(*) AS n FROM audit WHERE type = 'breaker.opened'"
    assert pair.first.rows(opened)[0]["n"] == 1


def test_when_one_desk_dies_the_other_finishes_its_refund(pair: Pair) -> None:
    """The last test of this file: one of the two desks does not come back."""
    approval = pair.second.opens_chat("cus_priya").parks("please refund $81 on ORD-1004")
    for desk in (pair.first, pair.second):
        desk.payments_fail("slow")
    pair.first.decides("approve", approval, pair.first.staff("ana"))
    claimed = "SELECT lease_owner FROM approvals WHERE id = :id AND status = 'executing'"
    (row,) = eventually(lambda: pair.first.rows(claimed, id=approval["id"]), "claim")
    dies, lives = (
        (pair.first, pair.second)
        if row["lease_owner"] == pair.first_name
        else (pair.second, pair.first)
    )
    dies.kill()
    done = lives.becomes(approval["id"], "executed")
    assert [p["amount"]["minor"] for p in lives.payments("ORD-1004")] == [8100]
    assert done["attempts"] == 2


def test_a_second_desk_on_the_same_file_says_why_it_does_not_start(tmp_path: Path) -> None:
    with (
        running_desk(tmp_path / "first") as first,
        made_desk(tmp_path / "second", first.database_url) as second,
    ):
        assert second.launch().wait(READY_S) == 2
        assert "another desk runs on" in second.log
        assert "PostgreSQL" in second.log
        assert "Traceback" not in second.log
        assert "Done" in first.opens_chat("cus_clara").says("refund $5 on ORD-1002")
