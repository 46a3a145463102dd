"""Slack, shop and provider all hang: every click is acknowledged in time, and nothing is lost."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agent.desk import Desk
from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from bot.sandbox.slack_web_api import METHODS
from storage.transaction import Store
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

# Slack counts three seconds from the click to the answer.
ACK_MS = 3_000
# What is asked of the desk here does not depend on the kind of database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@dataclass
class Between:
    """Stands before something outside, which answers nobody while `go` is not set."""

    port: Any
    go: Event = field(default_factory=Event)

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: Any, **named: Any) -> Any:
            assert self.go.wait(60)
            return getattr(self.port, name)(*arguments, **named)

        return ask


@dataclass
class Outside:
    """The shop and the provider of a story."""

    ports: list[Between] = field(default_factory=list)

    def stand_around(self, desk: Desk) -> Desk:
        self.ports = [Between(desk.shop), Between(desk.payments)]
        self.lets_go()
        return replace(desk, shop=self.ports[0], payments=self.ports[1])

    def hangs(self) -> None:
        for port in self.ports:
            port.go.clear()

    def lets_go(self) -> None:
        for port in self.ports:
            port.go.set()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def outside() -> Iterator[Outside]:
    """Return what stands outside; no thread is left waiting for it."""
    made = Outside()
    yield made
    made.lets_go()


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store, outside: Outside) -> Iterator[SlackStory]:
    around = outside.stand_around
    with slack_story(servers, tmp_path, store, around=around, pause=asyncio.sleep) as told:
        told.model.otherwise = "I have passed that on."
        # Room for a machine that does other things too.
        told.prompt._within_s = 0.5
        yield told


def clicked(story: SlackStory, user: str, approval: Approval, action_id: str) -> dict[str, Any]:
    """Click, and nothing else: no worker sees it."""
    card = story.card(approval)
    where = {"channel": card["channel"], "ts": card["ts"], "action_id": action_id}
    return dict(story.slack.act("/click", user=user, **where))


def submitted(story: SlackStory, user: str, **values: object) -> dict[str, Any]:
    view_id = story.slack.look("/views", user=user)[-1]["id"]
    return dict(story.slack.act("/submit", user=user, view_id=view_id, values=values))


def test_acknowledgements_wait_for_the_own_database_alone(
    story: SlackStory, outside: Outside
) -> None:
    edited, told, asked, open_still = (
        story.parks(amount, "ORD-1004") for amount in ("61.00", "62.00", "63.00", "64.00")
    )
    for user in ("ana", "ben", "mia"):
        story.clicks(user, edited, "approval_edit")
    story.clicks("max", told, "approval_reject")
    story.clicks("olu", asked, "approval_ask")
    outside.hangs()
    for method in METHODS:
        story.slack.act("/faults", 204, method=method, delay_s=6, times=50)
    edit = {"amount": "51.00", "reason": "Half was agreed"}
    acts = [
        *(partial(submitted, story, user, **edit) for user in ("ana", "ben", "mia")),
        partial(submitted, story, "max", category="other", reason="Too late for that"),
        partial(submitted, story, "olu", asked_of="agent", question="Which leg is broken?"),
        *(partial(clicked, story, "sam", open_still, "approval_review") for _ in range(6)),
        partial(clicked, story, "mia", open_still, "approval_approve"),
    ]
    with ThreadPoolExecutor(len(acts)) as people:
        answers = list(people.map(lambda act: act(), acts))
    assert [answer["problem"] for answer in answers] == [None] * len(acts)
    assert max(answer["ms"] for answer in answers) < ACK_MS
    # An edit asks the shop; the others were done when they were acknowledged.
    assert [answer["response_action"] for answer in answers[:3]] == ["update"] * 3
    assert answers[3]["response_action"] == "clear"
    assert story.approval(told.id).status is Status.REJECTED
    assert story.approval(open_still.id).status is Status.APPROVED
    assert story.approval(edited.id).status is Status.PENDING
    outside.lets_go()
    story.prompt.close()
    assert story.approval(edited.id).status is Status.SUPERSEDED
    assert story.only(Status.PENDING).id != edited.id


def test_an_edit_that_waits_for_the_shop_survives_the_end_of_the_process(
    story: SlackStory, outside: Outside
) -> None:
    approval = story.parks("160.00")
    story.clicks("ana", approval, "approval_edit")
    outside.hangs()
    answer = submitted(story, "ana", amount="80.00", reason="Half was agreed")
    assert answer["response_action"] == "update"
    assert story.approval(approval.id).status is Status.PENDING
    assert not story.checks()
    # The process that waits for the shop is as good as dead: another takes the row up.
    story.clock.advance(seconds=61)
    story.syncs()
    hung, (shop, payments) = story.desk, (port.port for port in outside.ports)
    story.desk = replace(story.desk, shop=shop, payments=payments)
    assert story.checks()
    assert story.approval(approval.id).status is Status.SUPERSEDED
    story.delivers()
    assert story.whispers("ana") == ["Your edit is saved."]
    # And when it is not dead after all, nothing happens twice.
    story.desk = hung
    outside.lets_go()
    story.prompt.close()
    story.rests()
    assert story.whispers("ana") == ["Your edit is saved."]
    assert story.paid() in ([], [("ORD-1001", Money(8000, "USD"))])
    assert story.trail().count("approval.edited") == 1


def test_what_is_slow_and_goes_wrong_is_told_too(story: SlackStory, outside: Outside) -> None:
    approval = story.parks("160.00")
    story.clock.advance(minutes=31)
    story.syncs()
    story.sweeps()
    assert story.approval(approval.id).status is Status.EXPIRED
    outside.hangs()
    asked = clicked(story, "ana", approval, "approval_ask_again")
    assert (asked["problem"], asked["body"]) == (None, "")
    # Somebody else has asked again meanwhile.
    story.happens("UPDATE approvals SET superseded_by = 'apr_other' WHERE status = 'expired'")
    outside.lets_go()
    story.prompt.close()
    story.delivers()
    assert story.whispers("ana") == ["It was asked again already: apr_other."]
