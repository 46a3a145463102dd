"""The trail leaves the desk in a form that somebody else can verify."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.ids import RunId
from agent.domain.roles import Channel, Role
from agent.steps.decide import note_unknown_click
from agent.steps.export import export_events, export_trace
from storage import audit
from storage.audit import EVERYTHING, Span
from tests.support.desk import Story
from tests.support.doubles import START


@dataclass(frozen=True)
class Told:
    """Two runs, a minute apart, and the desk."""

    story: Story
    first: RunId
    second: RunId

    def lines(self, span: Span = EVERYTHING) -> list[dict[str, object]]:
        return [json.loads(line) for line in export_events(self.story.desk.store, span)]


@pytest.fixture
def told(story: Story) -> Told:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    first = story.only(Status.PENDING)
    story.model.says("It is paid.")
    story.approves(ana, first)
    story.rests()
    story.clock.advance(minutes=1)
    story.asks_refund(story.opens_chat("cus_david"), "89.00", order="ORD-1015")
    story.rejects(ana, story.only(Status.PENDING))
    story.model.says("They declined it.")
    story.rests()
    second = story.only(Status.REJECTED)
    note_unknown_click(story.desk, ana, Channel.API, {"action": "none"})
    return Told(story, first.run_id, second.run_id)


def rebuilt(lines: Iterable[str]) -> int:
    """Rebuild every hash of an export, knowing nothing but this; return how many there were."""
    links: dict[str, tuple[int, str]] = {}
    count = 0
    for line in lines:
        event = json.loads(line)
        seq, link = links.get(event["chain"], (0, "0" * 64))
        text = f"supportdesk/audit/v1\n{link}\n{event['body']}".encode()
        assert event["hash"] == hashlib.sha256(text).hexdigest()
        assert event["seq"] == json.loads(event["body"])["seq"] == seq + 1
        links[event["chain"]] = event["seq"], event["hash"]
        count += 1
    return count


def test_every_hash_can_be_made_anew_from_the_export(told: Told) -> None:
    count = rebuilt(export_events(told.story.desk.store, EVERYTHING))
    assert count == len(told.story.trail()) > 20


def test_an_export_that_was_changed_does_not_add_up(told: Told) -> None:
    lines = list(export_events(told.story.desk.store, EVERYTHING))
    with pytest.raises(AssertionError):
        rebuilt([line.replace("16000", "96000") for line in lines])
    with pytest.raises(AssertionError):
        rebuilt(lines[:3] + lines[4:])


def test_a_line_holds_the_event_and_where_it_stands(told: Told) -> None:
    line = next(one for one in told.lines() if one["type"] == "vote.cast")
    assert sorted(line) == ["approval_id", "at", "body", "chain", "hash", "seq", "type"]
    body = json.loads(str(line["body"]))
    assert (line["chain"], line["at"]) == (told.first, body["at"])
    assert body["data"]["verdict"] == "approve"


def test_a_run_and_a_time_choose(told: Told) -> None:
    of_first = told.lines(Span(run_id=told.first))
    assert {line["chain"] for line in of_first} == {told.first}
    assert rebuilt(map(json.dumps, of_first)) == len(of_first) > 5
    minute = START + timedelta(minutes=1)
    assert {line["chain"] for line in told.lines(Span(until=minute))} == {told.first}
    assert told.second in {line["chain"] for line in told.lines(Span(since=minute))}
    assert told.first not in {line["chain"] for line in told.lines(Span(since=minute))}
    assert told.lines(Span(since=minute, run_id=told.first)) == []
    assert told.lines(Span(run_id=RunId("run_none"))) == []


def test_a_trace_is_of_the_requests_that_were_proposed_then(told: Told) -> None:
    minute = START + timedelta(minutes=1)
    store = told.story.desk.store

    def ends(span: Span) -> list[str]:
        trace = export_trace(store, span, START)
        kinds = {str(line["type"]) for line in trace.lines}
        return sorted(kinds & {"action_executed", "action_blocked"})

    assert ends(EVERYTHING) == ["action_blocked", "action_executed"]
    assert ends(Span(until=minute)) == ["action_executed"]
    assert ends(Span(since=minute)) == ["action_blocked"]
    assert ends(Span(run_id=told.first)) == ["action_executed"]
    of_run = export_trace(store, Span(run_id=told.second), START)
    assert {line["session_id"] for line in of_run.lines} == {told.second}
    assert {line["session_id"] for line in export_trace(store, EVERYTHING, START).lines} == {
        "supportdesk"
    }


def test_a_long_trail_is_read_page_by_page(story: Story) -> None:
    facts = [audit.Fact(AuditType.SHOP_IMPORTED, "x", "cli", {})] * 1100
    with story.desk.store.transaction() as tx:
        audit.append(tx, None, START, *facts)
        audit.append(tx, RunId("run_1"), START, *facts)
    assert rebuilt(export_events(story.desk.store, EVERYTHING)) == 2200
    assert rebuilt(export_events(story.desk.store, Span(run_id=RunId("run_1")))) == 1100
