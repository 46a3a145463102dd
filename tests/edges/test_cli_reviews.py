"""`agent reviews …` and `agent customers …`: what ran without a person, looked at afterwards."""

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.roles import Role
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal, value

WHY = ("--reason", "it was never delivered")


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    told = tell_story(store, clock, ids)
    told.hire("ana", Role.REFUND_APPROVER)
    told.hire("mia", Role.REFUND_MANAGER)
    told.hire("sam")
    return told


@pytest.fixture
def ana(story: Story) -> Terminal:
    return Terminal(story, "ana")


@pytest.fixture
def effect(story: Story) -> Approval:
    story.asks_refund(story.opens_chat("cus_clara"), "30.00")
    return story.only(Status.EXECUTED)


def test_the_queue_is_listed(story: Story, ana: Terminal, effect: Approval) -> None:
    header, line = ana.run("reviews", "list").stdout.splitlines()
    assert header.split() == [
        *("ID", "ASKED", "WHY", "TOOL", "AMOUNT", "ORDER", "CUSTOMER", "BY", "REASON")
    ]
    assert line.split() == [
        effect.id,
        "2026-11-29T12:00:00Z",
        "large",
        "issue_refund",
        *("30.00", "USD"),
        "ORD-1001",
        "cus_clara",
        *("-", "-"),
    ]
    listed = ana.json("reviews", "list", "--json")
    assert isinstance(listed, list)
    assert [(one["approval_id"], one["state"]) for one in listed] == [(effect.id, "open")]
    assert ana.json("reviews", "list", "--state", "right", "--json") == []
    ana.run("reviews", "list", "--state", "closed", code=2)
    story.damages("UPDATE approvals SET payload = '{' WHERE id = :id", id=effect.id)
    assert "damaged" in ana.run("reviews", "list").stdout


def test_it_looks_right(story: Story, ana: Terminal, effect: Approval) -> None:
    refused = Terminal(story, "sam").run("reviews", "right", effect.id, code=1)
    assert refused.stderr.startswith("not_allowed: ")
    done = ana.run("reviews", "right", effect.id)
    assert done.stdout == f"{effect.id}  right\n"
    again = ana.run("reviews", "flag", effect.id, *WHY, code=1)
    assert again.stderr == "already_decided: Ana has answered already.\n"
    (_, line) = ana.run("reviews", "list", "--state", "right").stdout.splitlines()
    assert line.split()[-2:] == ["Ana", "-"]
    assert ana.run("reviews", "right", "apr_none", code=1).stderr.startswith("not_found: ")


def test_a_flag_pauses_the_customer(story: Story, ana: Terminal, effect: Approval) -> None:
    ana.run("reviews", "flag", effect.id, code=2)
    short = ana.run("reviews", "flag", effect.id, "--reason", "no", code=1)
    assert short.stderr.startswith("reason_required: ")
    done = ana.run("reviews", "flag", effect.id, *WHY)
    assert value(done, effect.id) == "flagged"
    assert value(done, "cus_clara").startswith("nothing runs without a person: a review flagged")
    _, line = ana.run("customers", "paused").stdout.splitlines()
    assert line.split()[:3] == ["cus_clara", "2026-11-29T12:00:00Z", effect.id]
    paused = ana.json("customers", "paused", "--json")
    assert isinstance(paused, list)
    assert [one["customer_id"] for one in paused] == ["cus_clara"]
    assert ana.run("customers", "resume", "cus_clara", *WHY, code=1).stderr.startswith(
        "not_allowed: "
    )
    mia = Terminal(story, "mia")
    assert mia.run("customers", "resume", "cus_clara", *WHY).stdout == (
        "cus_clara  no longer paused\n"
    )
    again = mia.run("customers", "resume", "cus_clara", *WHY, code=1)
    assert again.stderr == "not_found: Nothing is paused for cus_clara.\n"
    assert ana.json("customers", "paused", "--json") == []
