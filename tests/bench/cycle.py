"""One refund from proposal to the customer's last message, with a stub for model and provider."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise
from time import perf_counter
from typing import Any

from sqlalchemy import text
from typing_extensions import override

from agent.desk import Desk
from agent.domain.approvals import Status, Verdict
from agent.domain.conversation import ToolCall
from agent.domain.decision import Decided, Decision
from agent.domain.ids import ActorId, ConversationId, CustomerId, RunId
from agent.domain.money import Money
from agent.domain.roles import Actor, ActorKind, Channel, Identity, Role, RoleGrant
from agent.ports import (
    Accepted,
    ChatAnswer,
    ChatModel,
    ChatRequest,
    Hear,
    Payments,
    PaymentView,
    ProviderRefund,
    ProviderStatus,
    RefundRequest,
    unheard,
)
from agent.providers.embedded_flags import EmbeddedFlags
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.no_rosters import NoRosters
from agent.providers.shopify_csv import import_orders, read_orders
from agent.providers.sink_mail import NoMailer
from agent.providers.system import SystemClock, SystemIds
from agent.steps.decide import decide
from agent.steps.execute import execute
from agent.steps.gate import Proposed, propose
from agent.steps.receive import open_conversation, receive
from agent.steps.turn import take_turn
from agent.tools.refunds import IssueRefund
from storage import approvals, people, schema
from storage.engine import open_engine
from storage.tables import metadata
from storage.transaction import Store
from tests.support.desk import shipped_policy
from tests.support.order_export import export, line

_APPROVER = Identity("cli", "bench")
_CAPTURED = Money(10_000_000, "USD")


class StubModel(ChatModel):
    """A model that has one sentence for everything."""

    @property
    @override
    def name(self) -> str:
        return "stub-1"

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        return ChatAnswer("Your refund has been paid.", (), self.name, 0, 0)


@dataclass
class StubPayments(Payments):
    """A provider that says yes at once; `called` is told between claim and outcome."""

    clock: SystemClock
    called: list[Any] = field(default_factory=list)

    @override
    def view(self, order_id: str, currency: str) -> PaymentView:
        return PaymentView(_CAPTURED, (), disputed=False)

    @override
    def find(self, request: RefundRequest) -> None:
        return None

    @override
    def refund(self, request: RefundRequest) -> Accepted:
        for tell in self.called:
            tell()
        made = ProviderRefund(
            f"re_{request.key}",
            request.key,
            request.order_id,
            request.amount,
            ProviderStatus.SUCCEEDED,
            self.clock.now(),
        )
        return Accepted(made, replayed=False)


class CountingStore(Store):
    """A store that counts its writing transactions."""

    commits = 0

    @override
    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Any]:
        with super().transaction(write=write) as tx:
            yield tx
        self.commits += write


@dataclass(frozen=True)
class Case:
    """A customer's run that is about to propose a refund of their order."""

    order: str
    customer_id: CustomerId
    conversation_id: ConversationId
    run_id: RunId


@dataclass(frozen=True)
class Timing:
    """How long one cycle took, and its part from the click to the committed outcome; seconds."""

    whole: float
    click: float


@dataclass
class Bench:
    """The real steps over a real database, with orders enough for every round."""

    desk: Desk
    store: CountingStore
    payments: StubPayments
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def case(self) -> Case:
        """Make an order and a conversation in which the customer has said something."""
        number = next(self.numbers)
        email = f"bench{number}@example.com"
        row = line(Name=f"#B{number}", Email=email, Billing_Name=f"Bench {number}")
        orders = read_orders(export(row))
        report = import_orders(self.store, orders, self.desk.clock.now(), lambda _done: None)
        assert report.added == 1, report
        order = self.desk.shop.order(f"B{number}")
        assert order is not None
        chat = open_conversation(self.desk, order.customer_id).conversation_id
        words = f"The cushions of order B{number} came torn, I want my 80 dollars back, please."
        sent = receive(self.desk, chat, self.desk.ids.new("msg"), words)
        assert take_turn(self.desk)
        return Case(order.id, order.customer_id, chat, sent.run_id)

    def runs(self, case: Case) -> Timing:
        """Park, approve, execute, resume."""
        started = perf_counter()
        self.parks(case)
        clicked = perf_counter()
        self.pays(case)
        paid = perf_counter()
        self.resumes()
        return Timing(perf_counter() - started, paid - clicked)

    def parks(self, case: Case) -> None:
        """Put the proposal through the gate."""
        arguments = IssueRefund(
            order_id=case.order,
            amount="80.00",
            currency="USD",
            scope="full",
            reason="The customer asks: the cushions came torn, money back",
            confidence="0.97",
        )
        call = ToolCall("call_1", "issue_refund", arguments.model_dump_json())
        ids = case.run_id, case.conversation_id, case.customer_id
        propose(self.desk, Proposed(*ids, call, arguments, "stub-1"))

    def pays(self, case: Case) -> None:
        """Approve what waits and carry it out."""
        with self.store.transaction(write=False) as tx:
            waiting = approvals.by_call(tx, case.run_id, "call_1")
        assert waiting is not None
        shown = waiting.payload_hash
        decision = Decision(waiting.id, _APPROVER, Verdict.APPROVE, shown, Channel.API)
        assert isinstance(decide(self.desk, decision), Decided)
        ended = execute(self.desk, waiting.id)
        assert ended is not None
        assert ended.status is Status.EXECUTED

    def resumes(self) -> None:
        """Take the turn in which the customer is told."""
        assert take_turn(self.desk)

    def rows_written(self, case: Case) -> "Written":
        """Run one cycle and return the text of every row that each part wrote."""
        looks = [self._look()]
        self.parks(case)
        looks.append(self._look())
        self.payments.called.append(lambda: looks.append(self._look()))
        self.pays(case)
        self.payments.called.clear()
        looks.append(self._look())
        self.resumes()
        looks.append(self._look())
        parts = [sorted(after - before) for before, after in pairwise(looks)]
        return Written(*parts)

    def _look(self) -> set[str]:
        with self.store.transaction(write=False) as tx:
            return {
                f"{table}{list(row.values())}"
                for table in metadata.tables
                for row in tx.all(text(f"SELECT * FROM {table}"))  # noqa: S608 - names of ours
            }


@dataclass(frozen=True)
class Written:
    """The rows that each part of a cycle writes, as text of the same length."""

    park: list[str]
    decide: list[str]
    settle: list[str]
    resume: list[str]


@contextmanager
def bench_over(url: str) -> Iterator[Bench]:
    """Make a desk with stubs over a new database."""
    engine = open_engine(url)
    schema.upgrade(engine)
    store, clock, ids = CountingStore(engine), SystemClock(), SystemIds()
    payments = StubPayments(clock)
    desk = Desk(
        store=store,
        clock=clock,
        ids=ids,
        policy=shipped_policy(),
        shop=EmbeddedShop(store),
        payments=payments,
        mailer=NoMailer(),
        flags=EmbeddedFlags(store, clock, ids),
        model=StubModel(),
        rosters=NoRosters(),
        replica="srv-bench",
        wake=lambda _lane: None,
    )
    approver = RoleGrant(Role.REFUND_APPROVER, "fixed", None)
    ana = Actor(
        ActorId("act_bench"),
        "Ana",
        ActorKind.MEMBER,
        active=True,
        grants=(approver,),
        identities=(_APPROVER,),
    )
    with store.transaction() as tx:
        people.add(tx, ana, clock.now())
    yield Bench(desk, store, payments)
    store.close()
