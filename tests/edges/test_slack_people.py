"""Roles come from Slack user groups: mirrored, dated before the look, never guessed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.domain.policy import RoleSource
from agent.domain.roles import Actor, ActorKind, Identity, Role, RoleGrant
from agent.steps.people import grant
from bot.sandbox.cast import ANA, BEN, GUS, MIA, OLU, PEOPLE, SAM, USER_GROUPS
from bot.sandbox.slack_config import Person, UserGroup
from bot.slack.people import SyncReport, sync_people
from storage import audit, people
from storage.transaction import Store
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


def find(story: SlackStory, person: Person) -> Actor | None:
    with story.desk.store.transaction(write=False) as tx:
        return people.find(tx, Identity("slack", f"{TEAM}:{person.slack_user_id}"))


def known(story: SlackStory, person: Person) -> Actor:
    actor = find(story, person)
    assert actor is not None
    return actor


def changes(story: SlackStory) -> list[dict[str, Any]]:
    """Return the particulars of every change of a person, oldest first."""
    with story.desk.store.transaction(write=False) as tx:
        bodies = [json.loads(f.body) for f in audit.walk(tx) if f.type == "actor.changed"]
    return [body["data"] for body in bodies]


def group(handle: str, *members: Person) -> tuple[UserGroup, ...]:
    """Return the groups of the workspace with other members in one of them."""
    ids = tuple(person.slack_user_id for person in members)
    return tuple(replace(g, members=ids) if g.handle == handle else g for g in USER_GROUPS)


def with_policy(story: SlackStory, role: Role, source: RoleSource) -> SlackStory:
    roles = {**story.desk.policy.roles, role: source}
    policy = story.desk.policy.model_copy(update={"roles": roles})
    story.desk = replace(story.desk, policy=policy)
    return story


def fault(story: SlackStory, method: str, error: str, times: int = 1) -> None:
    story.slack.act("/faults", 204, method=method, error=error, times=times)


def test_the_groups_become_actors_with_dated_grants(story: SlackStory) -> None:
    ana = known(story, ANA)
    assert (ana.name, ana.kind, ana.active) == (ANA.name, ActorKind.MEMBER, True)
    assert ana.grants == (
        RoleGrant(Role.REFUND_APPROVER, "slack:refund-approvers", story.clock.now()),
    )
    assert known(story, MIA).roles() == {Role.REFUND_MANAGER, Role.REFUND_APPROVER}
    assert known(story, OLU).roles() == {Role.ONCALL}
    assert known(story, SAM).roles() == {Role.SUPPORT}
    assert find(story, GUS) is None


def test_a_second_look_only_moves_the_date(story: SlackStory) -> None:
    before = changes(story)
    assert len(before) > 0
    story.clock.advance(seconds=30)
    report = story.syncs()
    assert report == SyncReport(story.clock.now(), people=6, changes=0, problems=())
    assert known(story, ANA).grants[0].verified_at == story.clock.now()
    assert changes(story) == before


def test_a_workspace_may_do_without_support_agents(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    with slack_story(servers, tmp_path, store, user_groups=USER_GROUPS[:3]) as story:
        assert story.syncs().problems == ()
        assert find(story, SAM) is None


def test_who_leaves_the_group_loses_the_role_and_the_trail_says_so(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    with slack_story(servers, tmp_path, store):
        pass
    with slack_story(servers, tmp_path, store, user_groups=group("refund-approvers", BEN)) as story:
        assert known(story, ANA).grants == ()
        assert known(story, BEN).roles() == {Role.REFUND_APPROVER}
        assert changes(story)[-1] == {
            "actor_id": known(story, ANA).id,
            "change": "revoked",
            "role": "refund_approver",
            "source": "slack:refund-approvers",
        }


def test_a_group_that_cannot_be_read_changes_nothing_and_grows_old(story: SlackStory) -> None:
    read_at, before = story.clock.now(), changes(story)
    story.clock.advance(seconds=61)
    fault(story, "usergroups.users.list", "ratelimited")
    report = story.syncs()
    # The first role asked for is the one that failed.
    assert report.problems == ("user group @refund-approvers: ratelimited",)
    assert known(story, ANA).grants[0].verified_at == read_at
    assert known(story, MIA).grants[0].verified_at == story.clock.now()
    assert changes(story) == before


def test_without_the_list_of_groups_nothing_is_written(story: SlackStory) -> None:
    read_at, before = story.clock.now(), changes(story)
    story.clock.advance(seconds=61)
    fault(story, "usergroups.list", "plan_upgrade_required")
    assert story.syncs().problems == ("user groups: plan_upgrade_required",)
    assert {known(story, p).grants[0].verified_at for p in (ANA, MIA, OLU)} == {read_at}
    assert changes(story) == before


def test_a_person_who_cannot_be_read_is_not_vouched_for(story: SlackStory) -> None:
    read_at = story.clock.now()
    story.clock.advance(seconds=30)
    # They are asked for in the order of their ids, and Ana's is the first.
    fault(story, "users.info", "internal_error")
    report = story.syncs()
    assert report.problems == (f"user {ANA.slack_user_id}: internal_error",)
    assert known(story, ANA).grants[0].verified_at == read_at
    assert known(story, BEN).grants[0].verified_at == story.clock.now()


def test_a_group_that_does_not_exist_is_reported(story: SlackStory) -> None:
    with_policy(story, Role.ONCALL, RoleSource(slack_user_group="nobody-has-this"))
    assert story.syncs().problems == ("user group @nobody-has-this: there is none",)


@pytest.mark.parametrize(
    ("flags", "kind", "active"),
    [
        ({"is_restricted": True}, ActorKind.GUEST, True),
        ({"is_ultra_restricted": True}, ActorKind.GUEST, True),
        ({"deleted": True}, ActorKind.MEMBER, False),
        ({"is_stranger": True}, ActorKind.MEMBER, False),
        ({"team_id": "T0OTHERCOMP"}, ActorKind.MEMBER, False),
        ({"is_email_confirmed": False}, ActorKind.MEMBER, False),
    ],
)
def test_an_account_that_may_not_decide_is_known_as_such(
    servers: Servers,
    tmp_path: Path,
    store: Store,
    flags: dict[str, Any],
    kind: ActorKind,
    active: bool,
) -> None:
    with slack_story(servers, tmp_path, store):
        pass
    changed = tuple(replace(p, **flags) if p.id == "ana" else p for p in PEOPLE)
    with slack_story(servers, tmp_path, store, people=changed) as story:
        ana = known(story, ANA)
        assert (ana.kind, ana.active) == (kind, active)
        assert changes(story)[-1]["change"] == "changed"


def test_a_bot_in_a_group_is_no_person(servers: Servers, tmp_path: Path, store: Store) -> None:
    bot = Person(id="bot", name="Bot", slack_user_id="U07SUPPDESK", email="")
    groups = group("refund-approvers", ANA, bot)
    with slack_story(servers, tmp_path, store, user_groups=groups) as story:
        assert known(story, bot).kind is ActorKind.BOT


def test_people_named_in_the_policy_hold_the_role_while_they_are_named(
    story: SlackStory,
) -> None:
    named = RoleSource(slack_users=[f"{TEAM}:{SAM.slack_user_id}", "T0OTHERCOMP:U1", "nonsense"])
    with_policy(story, Role.REFUND_APPROVER, named)
    report = story.syncs()
    assert [problem.split(":")[0] for problem in report.problems] == [
        "fixed user T0OTHERCOMP",
        "fixed user nonsense",
    ]
    named_so = RoleGrant(Role.REFUND_APPROVER, "policy", None)
    assert named_so in known(story, SAM).grants
    with_policy(story, Role.REFUND_APPROVER, RoleSource())
    assert story.syncs().problems == ()
    assert known(story, SAM).roles() == {Role.SUPPORT}


def test_what_an_operator_granted_stays(story: SlackStory) -> None:
    grant(story.desk, known(story, ANA).id, Role.ONCALL, OPERATOR)
    story.syncs()
    assert RoleGrant(Role.ONCALL, "fixed", None) in known(story, ANA).grants


def test_whom_an_operator_gave_a_role_is_looked_at_although_on_no_roster(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    with slack_story(servers, tmp_path, store) as story:
        grant(story.desk, known(story, ANA).id, Role.REFUND_MANAGER, OPERATOR)
    left = tuple(replace(p, deleted=True) if p.id == "ana" else p for p in PEOPLE)
    changed = group("refund-approvers", BEN)
    with slack_story(servers, tmp_path, store, people=left, user_groups=changed) as story:
        ana = known(story, ANA)
        assert [held.source for held in ana.grants] == ["fixed"]
        assert not ana.active


def test_no_transaction_is_open_while_slack_is_asked(story: SlackStory) -> None:
    seen: list[bool] = []

    class Looking:
        """A client that tries to write while it is asked."""

        def __getattr__(self, name: str) -> Any:
            with story.desk.store.transaction() as tx:
                seen.append(people.everyone(tx) != ())
            return getattr(story.slack.client, name)

    report = sync_people(story.desk, Looking(), TEAM)  # type: ignore[arg-type]
    assert report.problems == ()
    assert len(seen) > 5
