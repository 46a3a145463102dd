"""On the topmost tier a click counts only with a role that was read from Slack after it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from agent.domain.approvals import Approval, Status
from agent.domain.decision import RefusalCode, Refused, Voted
from agent.domain.policy import RoleSource
from agent.domain.roles import Actor, Identity, Role
from agent.ports import Unread
from agent.providers.no_rosters import NoRosters
from agent.steps.check import CHECKING
from agent.steps.kept import LEASE
from agent.steps.people import grant
from bot.sandbox.cast import ANA, BEN, MIA, SAM
from bot.sandbox.slack_config import Person
from bot.slack.rosters import SlackRosters
from storage import clicks, people
from storage.transaction import Store
from tests.support.slack_sandbox import ONCALL
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

TEAM = "T07SHOPSTRM"
OPERATOR = Identity("cli", "root")


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def slack_id(person: Person) -> Identity:
    return Identity("slack", f"{TEAM}:{person.slack_user_id}")


def large(story: SlackStory) -> Approval:
    """Park a refund of the topmost tier, some time after the user groups were mirrored."""
    approval = story.parks("2340.00", "ORD-1004")
    assert approval.tier.fresh_role
    story.clock.advance(seconds=5)
    return approval


def presses(story: SlackStory, user: str, approval: Approval, **more: Any) -> None:
    """Click Approve on the card and nothing else: no worker has seen it yet."""
    card = story.card(approval)
    where = {"channel": card["channel"], "ts": card["ts"], "action_id": "approval_approve"}
    answer = story.slack.act("/click", user=user, **where, **more)
    assert (answer["status"], answer["body"]) == (200, "")


def fault(story: SlackStory, method: str, times: int = 1, **how: Any) -> None:
    story.slack.act("/faults", 204, method=method, times=times, **how)


def waiting(story: SlackStory) -> int:
    """Return how many clicks wait."""
    with story.desk.store.transaction(write=False) as tx:
        row = tx.one(text("SELECT count(*) AS n FROM outbox WHERE lane = 'click'"))
    assert row is not None
    return int(row["n"])


def test_a_click_is_acknowledged_as_being_checked_and_counts_once_the_role_is_read(
    story: SlackStory,
) -> None:
    approval = large(story)
    presses(story, "ana", approval)
    presses(story, "ana", approval)
    assert story.approval(approval.id).status is Status.PENDING
    assert waiting(story) == 1
    story.delivers()
    assert story.whispers("ana") == [CHECKING] * 2
    story.rests()
    assert story.whispers("ana")[-1] == "Your approval counts. It takes one more person."
    (cast,) = [fact for fact in story.facts(approval) if fact["type"] == "vote.cast"]
    assert cast["data"]["evidence"] == (
        "refund_approver by slack:refund-approvers, read since the click"
    )
    assert cast["data"]["rev"] == approval.revision
    assert float(cast["data"]["action_ts"]) > 0
    # A form waits for it just so, and says so itself.
    story.clicks("mia", approval, "approval_review")
    story.model.says("It is paid.")
    submitted = story.submits("mia")
    assert (submitted["response_action"], submitted["problem"]) == ("update", None)
    assert "Being checked" in json.dumps(story.form("mia"))
    assert story.whispers("mia") == ["Your word counts: the request is approved."]
    assert len(story.paid()) == 1
    assert waiting(story) == 0


def test_an_edit_on_such_a_tier_waits_for_the_role_too(story: SlackStory) -> None:
    approval = large(story)
    story.clicks("mia", approval, "approval_edit")
    submitted = story.submits("mia", amount="2100.00", reason="Less the shipping")
    assert (submitted["response_action"], submitted["problem"]) == ("update", None)
    assert "Being checked" in json.dumps(story.form("mia"))
    assert story.whispers("mia") == ["Your edit is saved."]
    assert story.approval(approval.id).status is Status.SUPERSEDED
    # The submit is the editor's vote, with the role that was read for it.
    (cast,) = [fact for fact in story.facts() if fact["type"] == "vote.cast"]
    assert cast["data"]["evidence"].endswith("read since the click")


def test_who_left_the_group_since_the_mirror_was_read_does_not_decide(story: SlackStory) -> None:
    approval = large(story)
    story.slack.act("/groups", 204, group="refund-approvers", members=[BEN.slack_user_id])
    story.clicks("ana", approval, "approval_approve")
    assert story.whispers("ana") == [CHECKING, "This needs the role refund_approver."]
    assert story.approval(approval.id).status is Status.PENDING
    ana = known(story, ANA)
    assert ana is not None
    assert ana.grants == ()
    # Neither does somebody whose account has become a guest's, though the group still names them.
    assert story.trail().count("decision.refused") == 1


def test_strangers_are_answered_at_once_and_so_is_whoever_comes_too_late(
    story: SlackStory,
) -> None:
    approval = large(story)
    presses(story, "gus", approval)
    presses(story, "olu", approval)
    assert waiting(story) == 0
    story.rests()
    assert "does not know you" in story.whispers("gus")[-1]
    assert "needs the role" in story.whispers("olu")[-1]
    story.clicks("ana", approval, "approval_approve")
    story.model.says("It is paid.")
    story.clicks("mia", approval, "approval_approve")
    assert len(story.paid()) == 1
    late = json.dumps(
        {"v": 1, "id": approval.id, "rev": approval.revision, "h": approval.short_hash()}
    )
    presses(story, "ben", approval, value=late)
    assert waiting(story) == 0
    story.rests()
    assert "Already approved by" in story.whispers("ben")[-1]


def test_slack_that_cannot_be_asked_is_a_third_answer_after_a_minute(story: SlackStory) -> None:
    approval = large(story)
    before = known(story, ANA)
    fault(story, "users.info", times=99, error="internal_error")
    presses(story, "ana", approval)
    tries = 0
    while waiting(story):
        tries += story.checks()
        story.clock.advance(seconds=1)
        assert tries < 20
    story.rests()
    assert 3 < tries < 12
    assert "could not be verified" in story.whispers("ana")[-1]
    (refused,) = [f for f in story.facts(approval) if f["type"] == "decision.refused"]
    assert refused["data"]["code"] == "role_unverified"
    assert story.approval(approval.id).status is Status.PENDING
    # Nothing of the failure was kept.
    assert known(story, ANA) == before


def test_what_slack_asks_to_wait_is_waited_for(story: SlackStory) -> None:
    approval = large(story)
    fault(story, "usergroups.users.list", status=429, retry_after=20)
    presses(story, "ana", approval)
    assert story.checks()
    story.clock.advance(seconds=19)
    assert not story.checks()
    story.clock.advance(seconds=1)
    story.rests()
    assert "Your approval counts" in story.whispers("ana")[-1]


def test_a_click_that_waits_survives_the_process_that_had_taken_it(story: SlackStory) -> None:
    approval = large(story)
    presses(story, "ana", approval)
    with story.desk.store.transaction() as tx:
        taken = clicks.claim(tx, "srv-dead", story.clock.now(), LEASE)
    assert taken is not None
    assert not story.checks()
    # The sweep sees that nobody of that name shows any life.
    story.sweeps()
    assert "Your approval counts" in story.whispers("ana")[-1]
    assert waiting(story) == 0


def test_a_click_that_ends_every_process_is_given_up_and_one_unreadable_is_set_aside(
    story: SlackStory,
) -> None:
    approval = large(story)
    presses(story, "ana", approval)
    story.happens("UPDATE outbox SET attempts = 12 WHERE lane = 'click'")
    story.rests()
    assert "could not be worked on" in story.whispers("ana")[-1]
    presses(story, "ben", approval)
    story.happens("UPDATE outbox SET body = '{}' WHERE lane = 'click'")
    story.rests()
    assert any("kept click cannot be read" in m["text"] for m in story.posted(ONCALL))
    assert story.approval(approval.id).status is Status.PENDING


def test_every_other_door_reads_the_role_while_the_person_waits(story: SlackStory) -> None:
    approval = large(story)
    assert isinstance(story.approves(slack_id(ANA), approval), Voted)
    # Without Slack only a role that is granted by name will do.
    story.clock.advance(seconds=5)
    story.desk = replace(story.desk, rosters=NoRosters())
    refused = story.approves(slack_id(MIA), approval)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.ROLE_UNVERIFIED
    mia = known(story, MIA)
    assert mia is not None
    grant(story.desk, mia.id, Role.REFUND_MANAGER, OPERATOR)
    story.model.says("It is paid.")
    story.approves(slack_id(MIA), approval)
    story.rests()
    assert len(story.paid()) == 1


def test_a_group_that_is_not_there_and_a_person_of_elsewhere_are_not_guessed_at(
    story: SlackStory,
) -> None:
    elsewhere = story.desk.rosters.refresh(Identity("slack", "T0OTHERCOMP:U1"))
    assert elsewhere == Unread("slack:T0OTHERCOMP:U1 is not of this workspace")
    roles = {Role.ONCALL: RoleSource(slack_user_group="nobody-has-this")}
    policy = story.desk.policy.model_copy(update={"roles": roles})
    base = replace(story.desk, policy=policy)
    rosters = SlackRosters(base, story.slack.client, TEAM)
    assert rosters.refresh(slack_id(SAM)) == Unread("there is no user group @nobody-has-this")
    # A newcomer is found in a group that the mirror has not seen them in.
    story.slack.act("/groups", 204, group="refund-approvers", members=[SAM.slack_user_id])
    assert story.desk.rosters.refresh(slack_id(SAM)) is None
    sam = known(story, SAM)
    assert sam is not None
    assert sam.roles() == {Role.REFUND_APPROVER, Role.SUPPORT}


def known(story: SlackStory, person: Person) -> Actor | None:
    with story.desk.store.transaction(write=False) as tx:
        return people.find(tx, slack_id(person))
