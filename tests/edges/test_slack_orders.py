"""What people do beside deciding: break the glass, revoke, ask again, settle; by real clicks."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from agent.domain.payload import canonical
from agent.ports import (
    Accepted,
    Declined,
    NoClearAnswer,
    PaymentAnswer,
    Payments,
    PaymentView,
    RefundRequest,
)
from agent.providers.ledger_payments import LedgerPayments
from agent.steps.stop import lift, stop_all
from bot.sandbox.cast import MIA, OLU
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from bot.slack.edge import Edge
from bot.slack.listeners import slack_app
from bot.slack.prompt import Prompt
from storage.transaction import Store
from tests.support.outside import button_value
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_sandbox import ONCALL, SIGNING_SECRET
from tests.support.slack_server import (
    Servers,
    SlackStory,
    desk_app,
    running_servers,
    slack_story,
    uncounted,
)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def stops(story: SlackStory) -> None:
    """Let nothing be carried out, so that what is approved waits."""
    boss = story.hire("boss", *story.desk.policy.roles)
    stop_all(story.desk, story.order(boss))
    story.rests()


def approved(story: SlackStory) -> Approval:
    """Return a refund that is approved and waits for the stop to be lifted."""
    approval = story.parks()
    stops(story)
    story.clicks("ana", approval, "approval_approve")
    return story.approval(approval.id)


# --- break glass


def test_somebody_on_call_approves_alone_with_a_reason(story: SlackStory) -> None:
    approval = story.parks("2340.00", "ORD-1004")
    story.clicks("olu", approval, "approval_review")
    story.presses_inside("olu", "approval_break_glass")
    form = story.form("olu")
    assert title(form) == "Break the glass"
    assert "2 people, at least one refund manager" in shown(form)
    assert story.forms("olu") == 2
    assert list(story.submits("olu", reason="      ")["errors"]) == ["reason"]
    story.model.says("It is paid.")
    result = story.submits("olu", reason="Bank holiday, nobody else is here")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert story.forms("olu") == 0
    assert story.paid() == [("ORD-1004", Money(234000, "USD"))]
    (alert,) = story.posted(ONCALL)
    assert f"{OLU.name} broke the glass" in alert["text"]
    assert "Bank holiday" in alert["text"]
    assert "broke the glass" in shown(story.card(approval))


def test_the_glass_is_offered_to_people_on_call_alone(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_review")
    assert "approval_break_glass" not in action_ids(story.form("ana"))


def test_who_is_not_on_call_does_not_break_the_glass(story: SlackStory) -> None:
    approval = story.parks()
    value = button_value(story.card(approval), "approval_approve")
    story.clicks("mia", approval, "approval_break_glass", value)
    result = story.submits("mia", reason="I am in a hurry")
    assert result["response_action"] == "update"
    assert title(story.form("mia")) == "Not allowed"
    assert "needs the role oncall" in shown(story.form("mia"))
    assert story.approval(approval.id).status is Status.PENDING
    assert story.trail().count("decision.refused") == 1


# --- revoke


def test_an_approval_is_revoked_before_anything_of_it_began(story: SlackStory) -> None:
    approval = approved(story)
    assert action_ids(story.card(approval)) == ["approval_revoke"]
    story.clicks("ben", approval, "approval_revoke")
    assert title(story.form("ben")) == "Revoke the approval"
    assert list(story.submits("ben", reason="     ")["errors"]) == ["reason"]
    story.model.says("It was called off.")
    result = story.submits("ben", reason="The parcel has turned up")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert story.approval(approval.id).status is Status.CANCELLED
    card = story.card(approval)
    assert action_ids(card) == []
    assert "The parcel has turned up" in shown(card)
    assert "approval.revoked" in story.trail()


def test_what_has_run_is_not_revoked(story: SlackStory) -> None:
    approval = approved(story)
    value = button_value(story.card(approval), "approval_revoke")
    story.clicks("ben", approval, "approval_revoke")
    boss = story.hire("chief", *story.desk.policy.roles)
    lift(story.desk, story.order(boss))
    story.model.says("It is paid.")
    story.rests()
    result = story.submits("ben", reason="The parcel has turned up")
    assert result["response_action"] == "update"
    assert "Too late: the request is executed." in shown(story.form("ben"))
    # A click on an old picture of the card opens no form.
    story.clicks("ana", approval, "approval_revoke", value)
    assert title(story.form("ana")) == "Already decided"
    assert story.trail().count("decision.refused") == 2
    assert len(story.paid()) == 1


def test_a_revocation_takes_the_role(story: SlackStory) -> None:
    approval = approved(story)
    story.clicks("sam", approval, "approval_revoke")
    result = story.submits("sam", reason="I do not like it")
    assert result["response_action"] == "update"
    assert "needs the role" in shown(story.form("sam"))
    assert story.approval(approval.id).status is Status.APPROVED


def test_what_waits_is_rejected_and_not_revoked(story: SlackStory) -> None:
    approval = story.parks()
    value = button_value(story.card(approval), "approval_approve")
    story.clicks("ana", approval, "approval_revoke", value)
    assert "approve or reject it" in shown(story.form("ana"))
    assert story.trail().count("decision.refused") == 1


# --- ask again


def lapsed(story: SlackStory) -> Approval:
    approval = story.parks()
    story.clock.advance(minutes=31)
    story.syncs()
    story.model.says("Nobody decided in time.")
    story.sweeps()
    return story.approval(approval.id)


def test_what_lapsed_is_asked_again_with_a_card_of_its_own(story: SlackStory) -> None:
    approval = lapsed(story)
    assert action_ids(story.card(approval)) == ["approval_ask_again"]
    answer = story.clicks("ana", approval, "approval_ask_again")
    assert (answer["status"], answer["body"]) == (200, "")
    new = story.only(Status.PENDING)
    assert new.supersedes == approval.id
    old = story.card(approval)
    assert action_ids(old) == []
    assert "open its card" in shown(old)
    assert story.whispers("ana") == []
    story.model.says("It is paid.")
    story.clicks("ana", new, "approval_approve")
    assert len(story.paid()) == 1


def test_it_is_asked_again_once(story: SlackStory) -> None:
    approval = lapsed(story)
    value = button_value(story.card(approval), "approval_ask_again")
    story.clicks("ana", approval, "approval_ask_again")
    new = story.only(Status.PENDING)
    story.clicks("ben", approval, "approval_ask_again", value)
    assert f"asked again already: {new.id}" in story.whispers("ben")[-1]
    assert story.only(Status.PENDING).id == new.id
    assert story.trail().count("decision.refused") == 1


def test_who_may_not_decide_does_not_ask_again(story: SlackStory) -> None:
    approval = lapsed(story)
    story.clicks("olu", approval, "approval_ask_again")
    assert "needs the role refund_approver" in story.whispers("olu")[-1]
    assert story.all(Status.PENDING) == ()


def test_what_is_not_possible_any_more_is_not_asked_again(story: SlackStory) -> None:
    approval = lapsed(story)
    story.happens("UPDATE ledger_payments SET disputed = 1 WHERE order_id = 'ORD-1001'")
    story.clicks("ana", approval, "approval_ask_again")
    assert "Not possible any more" in story.whispers("ana")[-1]
    assert story.all(Status.PENDING) == ()


def test_a_damaged_request_is_not_asked_again(story: SlackStory) -> None:
    approval = lapsed(story)
    one_cent = approval.payload | {"amount": {"currency": "USD", "minor": 1}}
    statement = "UPDATE approvals SET payload = :other, amount_minor = 1"
    story.damages(statement, other=canonical(one_cent))
    answer = story.clicks("ana", approval, "approval_ask_again")
    assert (answer["status"], answer["body"]) == (200, "")
    assert "damaged" in story.whispers("ana")[-1]
    assert "does not match its hash" in story.posted(ONCALL)[-1]["text"]
    assert {"approval.corrupt", "decision.refused"} <= set(story.trail())
    assert story.all(Status.PENDING) == ()


# --- settle


def unknown(story: SlackStory, *, looks: int = 2) -> Approval:
    """Return a refund whose outcome nobody knows a day later, after looks in vain."""
    approval = story.parks()
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.clicks("ana", approval, "approval_approve")
    story.clock.advance(hours=24)
    for _ in range(looks):
        story.clock.advance(minutes=11)
        story.sweeps()
    story.syncs()
    return story.approval(approval.id)


def alert(story: SlackStory) -> dict[str, Any]:
    (found,) = (m for m in story.posted(ONCALL) if "approval_settle" in action_ids(m))
    return found


EVIDENCE: dict[str, Any] = {
    "outcome": "not_done",
    "evidence": "provider_support",
    "reference": "ticket 4711",
    "note": "They have no such refund",
}


def test_a_manager_settles_with_evidence(story: SlackStory) -> None:
    approval = unknown(story)
    told = alert(story)
    assert action_ids(told) == ["alert_acknowledge", "approval_settle", "approval_review"]
    story.presses("mia", alert(story), "approval_settle")
    form = story.form("mia")
    kinds = [b["element"]["type"] for b in form["blocks"] if b["type"] == "input"]
    assert kinds == ["radio_buttons", "static_select", "plain_text_input", "plain_text_input"]
    assert "mail server" not in shown(form)
    story.model.says("It could not be completed.")
    result = story.submits("mia", **EVIDENCE)
    assert (result["response_action"], result["problem"]) == ("clear", None)
    settled = story.approval(approval.id)
    assert settled.status is Status.FAILED
    assert settled.result == {
        "settled_by": MIA.name,
        "evidence": "provider_support",
        "reference": "ticket 4711",
        "note": "They have no such refund",
    }
    over, news = story.posted(ONCALL)
    assert (over["ts"], action_ids(over)) == (told["ts"], [])
    for where in (over, news):
        assert f"{MIA.name} settled Refund of 160.00 USD" in shown(where)
    assert "ticket 4711" in shown(story.card(approval))
    assert story.paid() == []


def test_a_settled_refund_that_went_through_is_executed(story: SlackStory) -> None:
    approval = unknown(story)
    story.presses("mia", alert(story), "approval_settle")
    story.model.says("It is paid.")
    story.submits("mia", **(EVIDENCE | {"outcome": "done", "evidence": "bank_record"}))
    assert story.approval(approval.id).status is Status.EXECUTED


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"outcome": None}, "outcome"),
        ({"outcome": "maybe"}, "outcome"),
        ({"evidence": "hearsay"}, "evidence"),
        ({"reference": "  x "}, "reference"),
    ],
)
def test_a_settlement_without_evidence_is_marked_where_it_lacks(
    story: SlackStory, change: dict[str, str | None], where: str
) -> None:
    approval = unknown(story)
    story.presses("mia", alert(story), "approval_settle")
    result = story.submits("mia", force=True, **(EVIDENCE | change))
    assert result["response_action"] == "errors"
    assert list(result["errors"]) == [where]
    assert story.approval(approval.id).status is Status.UNKNOWN


def test_it_is_not_settled_while_the_desk_still_asks(story: SlackStory) -> None:
    approval = unknown(story, looks=1)
    story.presses("mia", alert(story), "approval_settle")
    result = story.submits("mia", **EVIDENCE)
    assert result["response_action"] == "update"
    assert title(story.form("mia")) == "Too early"
    assert story.approval(approval.id).status is Status.UNKNOWN


@pytest.mark.parametrize("person", ["ana", "olu"])
def test_the_settle_form_opens_for_managers_alone(story: SlackStory, person: str) -> None:
    approval = unknown(story)
    story.presses(person, alert(story), "approval_settle")
    assert story.forms(person) == 0
    assert story.whispers(person, ONCALL) == ["This needs the role refund_manager."]
    assert story.trail().count("decision.refused") == 1
    assert story.approval(approval.id).status is Status.UNKNOWN


def test_who_is_no_manager_any_more_does_not_settle(story: SlackStory) -> None:
    unknown(story)
    story.presses("mia", alert(story), "approval_settle")
    story.happens("DELETE FROM role_members WHERE role = 'refund_manager'")
    result = story.submits("mia", **EVIDENCE)
    assert result["response_action"] == "update"
    assert "needs the role refund_manager" in shown(story.form("mia"))


def test_the_providers_own_record_wins_over_a_persons_word(story: SlackStory) -> None:
    approval = unknown(story)
    old = alert(story)
    story.presses("mia", old, "approval_settle")
    _provider_has_it(story, approval)
    story.model.says("It is paid.")
    result = story.submits("mia", **EVIDENCE)
    assert result["response_action"] == "update"
    assert title(story.form("mia")) == "Found out meanwhile"
    assert "Approved and paid" in shown(story.form("mia"))
    assert story.approval(approval.id).status is Status.EXECUTED
    # What is known is not settled once more, and whoever saw an old picture sees the new one.
    client = story.slack.client
    client.chat_update(channel=ONCALL, ts=old["ts"], blocks=old["blocks"], text=old["text"])
    value = button_value(old, "approval_settle")
    story.presses("max", old, "approval_settle", value)
    assert title(story.form("max")) == "Already decided"
    assert "went through" in shown(story.posted(ONCALL)[0])


def _provider_has_it(story: SlackStory, approval: Approval) -> None:
    """Let the refund turn up in the provider's book."""
    assert approval.order_id is not None
    assert approval.amount is not None
    ledger = LedgerPayments(story.desk.store, story.clock, story.desk.ids)
    ledger.refund(
        RefundRequest(approval.idempotency_key, approval.id, approval.order_id, approval.amount)
    )


@dataclass
class SlowPayments(Payments):
    """A provider that answers a look-up when it is let go."""

    inner: FaultyPayments
    go: threading.Event = field(default_factory=threading.Event)

    @override
    def view(self, order_id: str, currency: str) -> PaymentView:
        return self.inner.view(order_id, currency)

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        return self.inner.refund(request)

    @override
    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        assert self.go.wait(timeout=60)
        return self.inner.find(request)


@pytest.fixture
def slow(servers: Servers, story: SlackStory) -> Iterator[tuple[SlowPayments, Prompt]]:
    """Return the provider and the patience of a desk that is served from now on."""
    payments, prompt = SlowPayments(story.payments), Prompt(within_s=0.05)
    desk = replace(story.desk, payments=payments)
    edge = Edge(desk, story.slack.client, story.slack.config.team_id, uncounted, prompt)
    servers.desk.app = desk_app(slack_app(edge, SIGNING_SECRET))
    yield payments, prompt
    payments.go.set()
    prompt.close()


def test_a_slow_provider_keeps_nobody_waiting(
    story: SlackStory, slow: tuple[SlowPayments, Prompt]
) -> None:
    payments, prompt = slow
    approval = unknown(story)
    story.presses("mia", alert(story), "approval_settle")
    result = story.submits("mia", **EVIDENCE)
    assert (result["response_action"], result["problem"]) == ("update", None)
    assert title(story.form("mia")) == "Being checked"
    assert story.approval(approval.id).status is Status.UNKNOWN
    payments.go.set()
    prompt.close()
    story.model.says("It could not be completed.")
    story.rests()
    assert story.approval(approval.id).status is Status.FAILED
    assert story.whispers("mia", ONCALL) == ["It is settled."]
