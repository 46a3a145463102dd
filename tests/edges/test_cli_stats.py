"""`agent stats`: the same numbers as in Slack, for people and for programs."""

import json

import pytest

from agent.domain.roles import Role
from storage.transaction import Store
from tests.story.ways import expired, parked
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal

# The numbers themselves are tried on both kinds of database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    told = tell_story(store, clock, ids)
    told.model.otherwise = "I see."
    ana = told.hire("ana", Role.REFUND_MANAGER)
    told.hire("ben", Role.REFUND_APPROVER)
    row = parked(told, "129.00", "ORD-1008")
    told.clock.advance(minutes=3)
    told.approves(ana, row)
    told.rests()
    expired(told)
    parked(told, "60.00", "ORD-1005")
    return told


def test_the_numbers_stand_in_a_table_with_who_decided_for_managers(story: Story) -> None:
    said = Terminal(story).run("stats").stdout
    lines = {" ".join(line.split()[:-2]): line.split()[-2:] for line in said.splitlines()}
    assert lines["done"] == ["1", "1"]
    assert lines["expired"] == ["1", "1"]
    assert lines["rejected"] == ["0", "0"]
    assert "wait, median          180 s  180 s" in said
    assert "waiting now    1" in said
    assert "Ana             approve  1" in said
    assert "Ana" not in Terminal(story, "ben").run("stats").stdout


def test_the_numbers_are_there_for_programs(story: Story) -> None:
    told = json.loads(Terminal(story, "nobody").run("stats", "--json").stdout)
    assert told["week"]["outcomes"]["done"] == 1
    assert told["today"]["waits"] == {"number": 1, "median_s": 180, "p90_s": 180}
    assert told["today"]["since"] == "2026-11-29T00:00:00Z"
    assert (told["pending"], told["unknown"], told["people"]) == (1, 0, None)
    assert json.loads(Terminal(story).run("stats", "--json").stdout)["people"] == [
        {"name": "Ana", "verdict": "approve", "number": 1}
    ]
