"""A desk over a real database for stories: people, customers, a model that follows a script."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import text

from agent.desk import Desk, Lane
from agent.domain.alerts import Alert
from agent.domain.approvals import Approval, RejectCategory, Status, Verdict
from agent.domain.conversation import LogEvent
from agent.domain.decision import DecideAnswer, Decision, Edits, ReplyTo
from agent.domain.heartbeats import REPLICA
from agent.domain.ids import ActorId, ApprovalId, ConversationId, CustomerId
from agent.domain.money import Money
from agent.domain.places import Pace
from agent.domain.policy import Policy, read_policy
from agent.domain.roles import Actor, ActorKind, Channel, Identity, Role, RoleGrant
from agent.providers.demo_shop import seed_demo_shop
from agent.providers.embedded_flags import EmbeddedFlags
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.ledger_payments import LedgerPayments
from agent.providers.mail_message import Sender
from agent.providers.no_rosters import NoRosters
from agent.providers.sink_mail import SinkMailer
from agent.steps.announce import announce
from agent.steps.check import check_click
from agent.steps.decide import decide
from agent.steps.execute import execute_due
from agent.steps.permission import Order
from agent.steps.receive import open_conversation, receive
from agent.steps.sweep import sweep
from agent.steps.turn import take_turn
from bot.sandbox.payments_faults import FaultyPayments
from storage import alerts, approvals, audit, conversations, mail_sink, people, runs
from storage.heartbeats import beat
from storage.mail_sink import KeptMail
from storage.transaction import Store
from tests.support.builders import policy_document
from tests.support.doubles import UNPACED, CountingIds, HandClock
from tests.support.scripted import KeepingNotifier, ScriptedModel

SENDER = Sender("ShopStream", "support@shopstream.example")


def shipped_policy(**refunds: object) -> Policy:
    """Return the shipped policy with some refund rules replaced."""
    document = policy_document()
    document["refunds"] |= refunds
    return read_policy(document)


@dataclass
class Story:
    """A desk, its people and what happens to it."""

    desk: Desk
    clock: HandClock
    model: ScriptedModel
    payments: FaultyPayments
    notifier: KeepingNotifier
    woken: list[Lane]
    # What was done to the database behind the desk's back; the trail then need not hold.
    damaged: list[str] = field(default_factory=list)
    pace: Pace = UNPACED

    def under(self, policy: Policy) -> "Story":
        """Return the same story going on under another policy."""
        return replace(self, desk=replace(self.desk, policy=policy))

    def damages(self, statement: str, **values: object) -> None:
        """Change the database as an intruder or a disk fault would."""
        self.damaged.append(statement)
        with self.desk.store.transaction() as tx:
            tx.change(text(statement), **values)

    def happens(self, statement: str, **values: object) -> None:
        """Let something happen in the shop or at the provider, whose books are tables here."""
        with self.desk.store.transaction() as tx:
            assert tx.change(text(statement), **values) > 0

    def hire(
        self,
        name: str,
        *roles: Role,
        kind: ActorKind = ActorKind.MEMBER,
        identities: Iterable[Identity] = (),
        active: bool = True,
    ) -> Identity:
        """Store a person with fixed roles; the identity returned is `cli:<name>`."""
        own = Identity("cli", name)
        actor = Actor(
            id=ActorId(self.desk.ids.new("act")),
            name=name.title(),
            kind=kind,
            active=active,
            grants=tuple(RoleGrant(role, "fixed", None) for role in roles),
            identities=(own, *identities),
        )
        with self.desk.store.transaction() as tx:
            people.add(tx, actor, self.clock.now())
        return own

    def mirrored(self, name: str, role: Role) -> Identity:
        """Store a person whose role was read from a Slack user group just now."""
        own = Identity("slack", f"T1:U_{name}")
        grant = RoleGrant(role, "slack:group", self.clock.now())
        actor = Actor(
            ActorId(self.desk.ids.new("act")),
            name.title(),
            ActorKind.MEMBER,
            active=True,
            grants=(grant,),
            identities=(own,),
        )
        with self.desk.store.transaction() as tx:
            people.add(tx, actor, self.clock.now())
        return own

    def opens_chat(self, customer: str | None = "cus_ben") -> ConversationId:
        """Start a conversation."""
        known = None if customer is None else CustomerId(customer)
        return open_conversation(self.desk, known).conversation_id

    def says(self, conversation: ConversationId, text: str) -> None:
        """Let the customer say something and run the desk until it rests."""
        receive(self.desk, conversation, self.desk.ids.new("msg"), text)
        self.rests()

    def rests(self) -> None:
        """Run every worker until none has anything left to do."""
        while any([self.checks(), take_turn(self.desk), execute_due(self.desk), self.delivers()]):
            pass

    def checks(self) -> bool:
        """Work on the kept click that is due first."""
        return check_click(self.desk, lambda _decision, _answer: None)

    def tells(self) -> None:
        """Let everybody hear what is new, and carry nothing out."""
        while any([take_turn(self.desk), self.delivers()]):
            pass

    def delivers(self) -> int:
        """Deliver all that is due and return how many messages there were."""
        count = 0
        while announce(self.desk, self.notifier, self.pace):
            count += 1
        return count

    def sweeps(self) -> None:
        """Show life, sweep once, and run what follows."""
        with self.desk.store.transaction() as tx:
            beat(tx, self.desk.replica, REPLICA, self.clock.now())
        sweep(self.desk)
        self.rests()

    def refund_call(
        self,
        amount: str,
        order: str = "ORD-1001",
        call_id: str = "call_1",
        currency: str = "USD",
        confidence: str | None = "0.95",
        scope: str = "partial",
    ) -> tuple[str, str, str]:
        """Return a call of issue_refund for the script."""
        sure = "" if confidence is None else f', "confidence": "{confidence}"'
        arguments = (
            f'{{"order_id": "{order}", "amount": "{amount}", "currency": "{currency}", '
            f'"scope": "{scope}", "reason": "it wobbles"{sure}}}'
        )
        return (call_id, "issue_refund", arguments)

    def asks_refund(
        self,
        conversation: ConversationId,
        amount: str,
        order: str = "ORD-1001",
        **more: str,
    ) -> None:
        """Let the customer ask and the model propose exactly this refund."""
        self.model.calls(self.refund_call(amount, order, **more))
        self.model.says("I have asked for it.")
        self.says(conversation, f"refund {amount} on {order}")

    def proposes(
        self, conversation: ConversationId, *calls: tuple[str, str, str]
    ) -> list[dict[str, Any]]:
        """Let the model make these calls and return the results that it was shown, in order."""
        self.model.calls(*calls)
        self.model.says("I have asked for it.")
        asked = len(self.model.asked)
        self.says(conversation, "please")
        wanted = [call_id for call_id, _, _ in calls]
        seen = {m.call_id: m for m in self.model.asked[asked + 1].messages if m.role == "tool"}
        return [json.loads(seen[call_id].content) for call_id in wanted]

    def email_call(self, call_id: str = "call_1", **arguments: object) -> tuple[str, str, str]:
        """Return a call of send_email for the script."""
        sure = {"reason": "they asked for it", "confidence": "0.95"}
        return (call_id, "send_email", json.dumps(sure | arguments))

    def flag_call(
        self, score: str, call_id: str = "call_1", **arguments: object
    ) -> tuple[str, str, str]:
        """Return a call of flag_for_fraud for the script."""
        seen = {
            "score": score,
            "signals": ["three claims in a week"],
            "reason": "it looks odd",
            "confidence": "0.95",
        }
        return (call_id, "flag_for_fraud", json.dumps(seen | arguments))

    def only(self, status: Status) -> Approval:
        """Return the one approval of a status."""
        found = self.all(status)
        assert len(found) == 1, found
        return found[0]

    def all(self, status: Status) -> tuple[Approval, ...]:
        """Return the approvals of a status, oldest first."""
        with self.desk.store.transaction(write=False) as tx:
            return approvals.page(tx, status, "", 1000)

    def newest(self, tool: str) -> Approval:
        """Return the newest request by a tool, also one that the model hears nothing of."""
        rows = [row for status in Status for row in self.all(status) if row.tool == tool]
        return max(rows, key=lambda row: row.id)

    def open_alerts(self) -> tuple[Alert, ...]:
        """Return what people on call were told and is not over, oldest first."""
        with self.desk.store.transaction(write=False) as tx:
            return alerts.still_open(tx)

    def approval(self, approval_id: ApprovalId) -> Approval:
        """Return an approval as it is now."""
        with self.desk.store.transaction(write=False) as tx:
            found = approvals.get(tx, approval_id)
        assert found is not None
        return found

    def decides(
        self,
        who: Identity,
        verdict: Verdict,
        approval: Approval,
        **more: object,
    ) -> DecideAnswer:
        """Let a person decide through the API, having seen the stored hash."""
        decision = Decision(
            approval_id=approval.id,
            identity=who,
            verdict=verdict,
            shown_hash=approval.payload_hash,
            channel=Channel.API,
        )
        return decide(self.desk, replace(decision, **more))  # type: ignore[arg-type]

    def approves(self, who: Identity, approval: Approval, **more: object) -> DecideAnswer:
        """Approve."""
        return self.decides(who, Verdict.APPROVE, approval, **more)

    def rejects(
        self, who: Identity, approval: Approval, reason: str = "outside the return window"
    ) -> DecideAnswer:
        """Reject with a reason the customer reads."""
        return self.decides(
            who,
            Verdict.REJECT,
            approval,
            reason=reason,
            category=RejectCategory.NOT_ELIGIBLE,
        )

    def edits(
        self, who: Identity, approval: Approval, amount: Money | None = None, **more: object
    ) -> DecideAnswer:
        """Edit the amount, or whatever else `Edits` names."""
        wanted = replace(Edits(amount=amount), **more)  # type: ignore[arg-type]
        return self.decides(who, Verdict.EDIT, approval, edits=wanted, reason="partly used")

    def order(self, who: Identity, reason: str = "I have looked into it") -> Order:
        """Return what a person wants done beside deciding, through the API."""
        return Order(who, Channel.API, reason)

    def log(self, conversation: ConversationId) -> tuple[LogEvent, ...]:
        """Return everything the customer reads."""
        with self.desk.store.transaction(write=False) as tx:
            return conversations.events_after(tx, conversation, 0)

    def agent_words(self, conversation: ConversationId) -> list[str]:
        """Return what the agent said, in order."""
        return [
            str(event.data["text"])
            for event in self.log(conversation)
            if event.data.get("role") == "agent"
        ]

    def chips(self, conversation: ConversationId) -> list[object]:
        """Return the statuses of the approval chips, in order."""
        return [
            event.data["status"]
            for event in self.log(conversation)
            if event.type.value == "approval"
        ]

    def transcript(self, approval: Approval) -> list[dict[str, Any]]:
        """Return the system messages of the approval's run, oldest first."""
        with self.desk.store.transaction(write=False) as tx:
            messages = runs.transcript_of(tx, approval.run_id)
        return [json.loads(m.content) for m in messages if m.role == "system"]

    def facts(self, approval: Approval | None = None) -> list[dict[str, Any]]:
        """Return what the trail says, of one approval or of everything, chain by chain."""
        with self.desk.store.transaction(write=False) as tx:
            found = [json.loads(fact.body) for fact in audit.walk(tx)]
        return [f for f in found if approval is None or f["approval_id"] == approval.id]

    def trail(self) -> list[str]:
        """Return the tags of every audit event."""
        with self.desk.store.transaction(write=False) as tx:
            return [fact.type for fact in audit.walk(tx)]

    def mails(self) -> tuple[KeptMail, ...]:
        """Return what the mail server was given, the oldest first."""
        with self.desk.store.transaction(write=False) as tx:
            return mail_sink.book(tx)

    def paid(self) -> list[tuple[str, Money]]:
        """Return what the provider's own book shows as paid by the desk."""
        ledger = LedgerPayments(self.desk.store, self.clock, self.desk.ids)
        return [
            (refund.order_id, refund.amount)
            for refund in ledger.book()
            if refund.key.startswith("rd-")
        ]


def tell_story(
    store: Store, clock: HandClock, ids: CountingIds, policy: Policy | None = None
) -> Story:
    """Return a desk with the demo shop over a migrated database."""
    seed_demo_shop(store, clock.now())
    payments = FaultyPayments(LedgerPayments(store, clock, ids), wait=lambda _seconds: None)
    model, woken = ScriptedModel(), list[Lane]()
    desk = Desk(
        store=store,
        clock=clock,
        ids=ids,
        policy=policy or shipped_policy(),
        shop=EmbeddedShop(store),
        payments=payments,
        mailer=SinkMailer(store, clock, SENDER),
        flags=EmbeddedFlags(store, clock, ids),
        model=model,
        rosters=NoRosters(),
        replica="srv-test",
        wake=woken.append,
    )
    with store.transaction() as tx:
        beat(tx, desk.replica, REPLICA, clock.now())
    return Story(desk, clock, model, payments, KeepingNotifier(), woken)


__all__ = [
    "KeepingNotifier",
    "ReplyTo",
    "ScriptedModel",
    "Story",
    "shipped_policy",
    "tell_story",
]
