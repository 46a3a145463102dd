"""`agent pending …` and `agent resume`: one person, one payload that was seen, one refund."""

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest
from sqlalchemy import text

from agent.domain.approvals import Approval, Status
from agent.domain.audit import AuditType
from agent.domain.conversation import RunState
from agent.domain.deadlines import TURN_LEASE
from agent.domain.money import Money
from agent.domain.roles import Role
from agent.steps.receive import receive
from bot.cli_work import carry_on
from bot.cli_world import World
from storage import audit, breaker, runs
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal, value

CHAIR = Money(16000, "USD")
REJECT = ("--category", "not_eligible", "--reason", "outside the return window")


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    told = tell_story(store, clock, ids)
    told.hire("ana", Role.REFUND_APPROVER)
    return told


@pytest.fixture
def terminal(story: Story) -> Terminal:
    return Terminal(story)


@pytest.fixture
def parked(story: Story) -> Approval:
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    return story.only(Status.PENDING)


def refusals(story: Story) -> list[str]:
    """Return the codes of the refused decisions in the trail."""
    with story.desk.store.transaction(write=False) as tx:
        facts = [fact for fact in audit.walk(tx) if fact.type == AuditType.DECISION_REFUSED]
    return [json.loads(fact.body)["data"]["code"] for fact in facts]


def test_nothing_waits(terminal: Terminal) -> None:
    assert terminal.json("pending", "list", "--json") == []
    (header,) = terminal.run("pending", "list").stdout.splitlines()
    assert header.split() == [
        *("ID", "CREATED", "EXPIRES", "TOOL", "AMOUNT", "ORDER", "NEEDS", "VOTES", "REASONS"),
    ]


def test_what_waits_is_listed_oldest_first(story: Story, terminal: Terminal) -> None:
    chat = story.opens_chat("cus_clara")
    for number, amount in enumerate(("150.00", "160.00")):
        story.asks_refund(chat, amount, call_id=f"call_{number}")
    oldest, newest = story.all(Status.PENDING)
    _, first, second = terminal.run("pending", "list").stdout.splitlines()
    assert first.split() == [
        oldest.id,
        "2026-11-29T12:00:00Z",
        "2026-11-29T12:30:00Z",
        "issue_refund",
        *("150.00", "USD"),
        "ORD-1001",
        *("1", "x", "refund_approver"),
        "0/1",
        "amount_over_limit",
    ]
    assert second.startswith(f"{newest.id}  ")
    listed = terminal.json("pending", "list", "--json")
    assert isinstance(listed, list)
    assert [one["id"] for one in listed] == [oldest.id, newest.id]


def test_a_request_is_shown_whole(terminal: Terminal, parked: Approval) -> None:
    shown = terminal.run("pending", "show", parked.id)
    for name, expected in (
        ("approval", parked.id),
        ("payload.amount.minor", "16000"),
        ("payload.amount.currency", '"USD"'),
        ("payload.customer_id", '"cus_clara"'),
        ("payload.order_id", '"ORD-1001"'),
        ("hash", parked.payload_hash),
        ("order total", "160.00 USD"),
        ("order refunded", "0.00 USD -> 160.00 USD"),
        ("order left", "160.00 USD -> 0.00 USD"),
        ("reason amount_over_limit", "160.00 USD is over the automatic limit of 50.00 USD"),
        ("needs", "1 x refund_approver"),
        ("customer", "Clara Nguyen <clara.nguyen@example.com> cus_clara"),
        ("customer said", "refund 160.00 on ORD-1001"),
        ("model reason", "it wobbles"),
        ("expires", "2026-11-29T12:30:00Z"),
    ):
        assert value(shown, name) == expected
    as_json = terminal.json("pending", "show", parked.run_id, "--json")
    assert isinstance(as_json, dict)
    assert (as_json["id"], as_json["payload"]) == (parked.id, parked.payload)


def test_approving_shows_asks_and_pays_once(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    story.model.says("Your refund has been paid.")
    done = terminal.run("pending", "approve", parked.id, typed="y\n")
    assert value(done, "hash") == parked.payload_hash
    assert f"decision  approve stands for {parked.id}" in done.stdout
    assert done.stdout.splitlines()[-4].split() == ["status", "executed"]
    assert story.paid() == [("ORD-1001", CHAIR)]
    assert story.agent_words(parked.conversation_id)[-1] == "Your refund has been paid."
    assert terminal.pauses == []

    again = terminal.run("pending", "approve", parked.id, code=1)
    assert again.stdout == ""
    assert again.stderr == (
        "already_decided: Already approved by Ana at 2026-11-29 12:00 UTC; "
        "the request is executed.\n"
    )
    assert story.paid() == [("ORD-1001", CHAIR)]


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_decided(
    story: Story, terminal: Terminal, parked: Approval, typed: str
) -> None:
    asked = terminal.run("pending", "approve", parked.id, typed=typed, code=1)
    assert asked.stderr.strip() == "Aborted!"
    assert story.approval(parked.id).status is Status.PENDING
    assert refusals(story) == []


def test_yes_needs_the_hash_that_was_seen(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    terminal.run("pending", "approve", parked.id, "--yes", code=2)
    forged = "0" * 64
    refused = terminal.run("pending", "approve", parked.id, "--yes", "--hash", forged, code=1)
    assert refused.stderr.startswith("payload_changed: ")
    assert refusals(story) == ["payload_changed"]
    story.model.says("Paid.")
    seen = ("--yes", "--hash", parked.payload_hash)
    done = terminal.run("pending", "approve", parked.id, *seen)
    assert value(done, "status") == "executed"
    assert "payload." not in done.stdout


def test_a_stranger_and_a_person_without_the_role_are_refused(
    story: Story, parked: Approval
) -> None:
    story.hire("sam")
    for user, why in (("eve", "The desk does not know you."), ("sam", "This needs the role")):
        refused = Terminal(story, user).run("pending", "approve", parked.id, typed="y\n", code=1)
        assert f"not_allowed: {why}" in refused.stderr
    assert refusals(story) == ["not_allowed", "not_allowed"]
    assert story.paid() == []


def test_rejecting_tells_the_customer_why(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    story.model.says("The team declined: outside the return window.")
    done = terminal.run("pending", "reject", parked.id, *REJECT, "--note", "third time this week")
    assert f"decision  reject stands for {parked.id}" in done.stdout
    assert done.stdout.splitlines()[-1].split() == ["status", "rejected"]
    assert story.paid() == []
    assert story.chips(parked.conversation_id) == ["pending", "declined"]
    vote = value(terminal.run("pending", "show", parked.id), "vote")
    assert vote == (
        "reject by Ana (cli) at 2026-11-29T12:00:00Z [not_eligible]: "
        "outside the return window (note: third time this week)"
    )


def test_a_rejection_without_a_proper_reason_does_not_count(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    for words, code in (
        (("--reason", "outside the return window"), 2),
        (("--category", "because", "--reason", "outside the window"), 2),
        (("--category", "other"), 2),
        (("--category", "other", "--reason", "no\x1b[2J"), 2),
        (("--category", "other", "--reason", "no\ud800"), 2),
        (("--category", "other", "--reason", "no"), 1),
    ):
        refused = terminal.run("pending", "reject", parked.id, *words, code=code)
        assert "\x1b" not in refused.output
    assert refusals(story) == ["reason_required"]
    assert story.approval(parked.id).status is Status.PENDING


def test_an_edit_makes_a_new_request_and_pays_that(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    story.model.says("You get 120.00 back.")
    done = terminal.run("pending", "edit", parked.id, "--amount", "120.00", "--reason", "used")
    (new,) = story.all(Status.EXECUTED)
    assert (
        f"decision  edit: {new.id} replaces {parked.id}; "
        "changed the amount from 160.00 USD to 120.00 USD"
    ) in done.stdout
    assert story.paid() == [("ORD-1001", Money(12000, "USD"))]
    shown = terminal.run("pending", "show", new.id)
    assert value(shown, "model asked for") == "160.00 USD"
    assert value(shown, "supersedes") == parked.id
    assert value(shown, "attempts") == "1"
    old = terminal.run("pending", "show", parked.id)
    assert value(old, "superseded by") == new.id
    late = terminal.run("pending", "approve", parked.id, code=1)
    assert f"superseded: Replaced by {new.id} after an edit." in late.stderr


def test_an_amount_that_cannot_be_is_refused(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    for amount in ("120,00", "1e2", "NaN", "0", "-5", "120.001", "160", "500", "1" * 30, ""):
        words = ("pending", "edit", parked.id, f"--amount={amount}", "--reason", "partly used")
        refused = terminal.run(*words, code=1)
        assert refused.stderr.startswith("invalid: amount")
    assert story.all(Status.PENDING) == (parked,)


def test_a_run_stands_for_its_one_open_request(story: Story, terminal: Terminal) -> None:
    story.model.calls(
        story.refund_call("100.00", call_id="a"), story.refund_call("110.00", call_id="b")
    )
    story.model.says("Both wait.")
    story.says(story.opens_chat("cus_clara"), "100 and 110 please")
    first, second = story.all(Status.PENDING)
    refused = terminal.run("pending", "approve", first.run_id, typed="y\n", code=1)
    assert refused.stderr == (f"ambiguous: The run has 2 open approvals: {first.id}, {second.id}\n")
    story.model.says("The first was declined.")
    terminal.run("pending", "reject", first.id, *REJECT)
    assert value(terminal.run("pending", "show", first.run_id), "approval") == second.id


def test_a_request_that_is_not_there(story: Story, terminal: Terminal) -> None:
    for words, code in (
        (("show", "apr_none"), 1),
        (("approve", "apr_none"), 1),
        (("reject", "apr_none", *REJECT), 1),
        (("edit", "apr_none", "--amount", "1.00", "--reason", "why not"), 1),
        (("show", "'; --"), 2),
        (("show", "a\ud800"), 2),
        (("approve",), 2),
    ):
        refused = terminal.run("pending", *words, code=code)
        assert refused.stdout == ""
        if code == 1:
            assert refused.stderr.startswith("not_found: There is no")
    assert refusals(story) == ["not_found"] * 3


@pytest.mark.parametrize("decision", ["approve", "approved"])
def test_resume_approves_without_asking(
    story: Story, terminal: Terminal, parked: Approval, decision: str
) -> None:
    story.model.says("Paid.")
    done = terminal.run("resume", "--run-id", parked.run_id, "--decision", decision)
    assert value(done, "hash") == parked.payload_hash
    assert story.paid() == [("ORD-1001", CHAIR)]
    again = terminal.run("resume", "--run-id", parked.run_id, "--decision", decision, code=1)
    assert again.stderr.startswith("already_decided: ")
    assert story.paid() == [("ORD-1001", CHAIR)]


@pytest.mark.parametrize("decision", ["reject", "rejected"])
def test_resume_rejects_with_a_reason(
    story: Story, terminal: Terminal, parked: Approval, decision: str
) -> None:
    words = ("resume", "--run-id", parked.run_id, "--decision", decision)
    assert "reason_required: " in terminal.run(*words, code=1).stderr
    story.model.says("Declined.")
    terminal.run(*words, "--reason", "outside the return window")
    assert story.approval(parked.id).status is Status.REJECTED
    assert "[other]" in value(terminal.run("pending", "show", parked.id), "vote")


def test_resume_counts_only_for_the_payload_that_was_seen(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    words = ("resume", "--run-id", parked.run_id, "--decision", "approve", "--hash")
    assert "payload_changed: " in terminal.run(*words, "0" * 16, code=1).stderr
    story.model.says("Paid.")
    terminal.run(*words, parked.short_hash())
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_resume_of_a_run_that_is_not_there(terminal: Terminal) -> None:
    words = ("resume", "--run-id", "run_none", "--decision", "approve")
    assert terminal.run(*words, code=1).stderr.startswith("not_found: ")


def test_the_first_of_two_votes_counts_and_the_request_waits_on(story: Story) -> None:
    story.hire("mia", Role.REFUND_MANAGER)
    story.asks_refund(story.opens_chat(owner(story, "ORD-1004")), "2100.00", order="ORD-1004")
    parked = story.only(Status.PENDING)
    first = Terminal(story, "ana").run("pending", "approve", parked.id, typed="y\n")
    assert f"decision  approve is vote 1 of 2; {parked.id} still waits" in first.stdout
    assert first.stdout.splitlines()[-1].split() == ["status", "pending"]
    line = Terminal(story).run("pending", "list").stdout.splitlines()[1]
    assert "2 x refund_manager  1/2" in line
    story.model.says("Paid.")
    Terminal(story, "mia").run("pending", "approve", parked.id, typed="y\n")
    assert story.paid() == [("ORD-1004", Money(210000, "USD"))]


def test_enough_votes_without_the_role_wait_for_it(story: Story) -> None:
    for name in ("ben", "cem"):
        story.hire(name, Role.REFUND_APPROVER)
    story.asks_refund(story.opens_chat(owner(story, "ORD-1004")), "2100.00", order="ORD-1004")
    parked = story.only(Status.PENDING)
    still = f"of 2; {parked.id} still waits"
    for name, words in (
        ("ana", f"vote 1 {still}"),
        ("ben", f"vote 2 {still} for a refund_manager"),
        ("cem", f"vote 2 {still} for a refund_manager"),
    ):
        done = Terminal(story, name).run("pending", "approve", parked.id, typed="y\n")
        assert f"decision  approve is {words}" in done.stdout.splitlines()
    assert "2 x refund_manager  2/2" in Terminal(story).run("pending", "list").stdout


def test_a_damaged_request_is_named_and_not_decided(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    damage(story, parked)
    refused = terminal.run("pending", "approve", parked.id, code=1)
    assert refused.stderr.startswith(f"corrupt: approval {parked.id}: ")
    assert story.paid() == []


def test_there_is_no_approve_all_and_the_help_says_why(terminal: Terminal) -> None:
    shown = " ".join(terminal.run("pending", "--help").stdout.split())
    assert "There is no approve-all: each decision binds the hash of one payload" in shown
    terminal.run("pending", "approve-all", code=2)


def test_what_a_running_desk_has_claimed_is_waited_for(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    # Another process holds the conversation and never ends: the decision stands all the same.
    story.clock.advance(seconds=1)
    message = receive(story.desk, parked.conversation_id, "m2", "any news?")
    with story.desk.store.transaction() as tx:
        held = runs.claim_turn(tx, "srv-other", story.clock.now(), TURN_LEASE)
    assert held is not None
    assert held.run_id == message.run_id
    done = terminal.run("pending", "approve", parked.id, typed="y\n")
    assert value(done, "decision") == f"approve stands for {parked.id}"
    assert story.paid() == [("ORD-1001", CHAIR)]
    assert len(terminal.pauses) == 80


def test_what_is_stopped_stays_approved_and_is_not_paid(
    story: Story, terminal: Terminal, parked: Approval
) -> None:
    with story.desk.store.transaction() as tx:
        breaker.save(tx, replace(breaker.load(tx), stopped=True))
    done = terminal.run("pending", "approve", parked.id, typed="y\n")
    assert done.stdout.splitlines()[-1].split() == ["status", "approved"]
    assert terminal.pauses == []
    shown = terminal.run("pending", "show", parked.id)
    assert value(shown, "stopped").startswith("everything is stopped")
    assert story.paid() == []


def test_a_running_desk_may_do_the_work(story: Story, parked: Approval) -> None:
    chat = parked.conversation_id
    message = receive(story.desk, chat, "m2", "any news?")
    with story.desk.store.transaction() as tx:
        held = runs.claim_turn(tx, "srv-other", story.clock.now(), TURN_LEASE)
    assert held is not None

    def answers(_seconds: float) -> None:
        story.model.says("Not yet.")
        with story.desk.store.transaction() as tx:
            runs.release(tx, held)

    world = World(lambda: nullcontext(story.desk), lambda: "", "ana", answers)
    assert carry_on(world, story.desk, message.run_id)
    with story.desk.store.transaction(write=False) as tx:
        run = runs.get(tx, message.run_id)
    assert run is not None
    assert run.state is RunState.DONE
    assert story.agent_words(chat)[-1] == "Not yet."


def owner(story: Story, order: str) -> str:
    found = story.desk.shop.order(order)
    assert found is not None
    return found.customer_id


def damage(story: Story, approval: Approval) -> None:
    with story.desk.store.transaction() as tx:
        statement = text("UPDATE approvals SET payload = '{' WHERE id = :id")
        assert tx.change(statement, id=approval.id) == 1
