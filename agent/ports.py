"""What the desk needs from outside, as Protocols; adapters live in agent/providers and bot."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from agent.domain.alerts import Alert
from agent.domain.approvals import ApprovalView
from agent.domain.conversation import ChatMessage, ToolCall
from agent.domain.digest import Queue
from agent.domain.fraud import FlagAction
from agent.domain.hand_offs import HandOff
from agent.domain.heads import Head
from agent.domain.ids import ApprovalId, ConversationId, CustomerId, Prefix, RunId
from agent.domain.money import Money
from agent.domain.payload import Payload
from agent.domain.roles import Identity


class Clock(Protocol):
    """The only source of the time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""


class Ids(Protocol):
    """The only source of identifiers and chance."""

    def new(self, prefix: Prefix) -> str:
        """Return a new prefixed ULID, e.g. `apr_01J…`; sorts after those made before."""

    def secret(self) -> str:
        """Return 256 unguessable bits as URL-safe text."""

    def jitter(self) -> float:
        """Return a random number of [0, 1)."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, object]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to the model: the transcript so far and what it may ask for."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What the model said: words, calls, or both. `model` names who answered, with version."""

    text: str
    calls: tuple[ToolCall, ...]
    model: str
    tokens_in: int
    tokens_out: int


# Told the words of an answer so far, all of them, each time there are more, and before another try;
# words that do not begin as those before are another try. Raises Unheard where nobody waits for the
# rest.
Hear = Callable[[str], None]


def unheard(_so_far: str) -> None:
    """Hear nothing: the answer is wanted once it is whole."""


class ChatModel(Protocol):
    """A chat model with tools."""

    @property
    def name(self) -> str:
        """Return the model's name and version, as stored beside what it proposes."""

    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Answer, and let the words be heard while they come, where the model can.

        Raises ModelUnavailable when no usable answer came in time, and what `hear` raises.
        """


class Live(Protocol):
    """Shows a customer the agent's words while they come; nothing of it is stored.

    Both may be called from any thread and never raise; what gets lost is not missed, as the whole
    answer is stored in the end.
    """

    def show(self, conversation_id: ConversationId, run_id: RunId, so_far: str) -> None:
        """Show an answer so far, all of it."""

    def hide(self, conversation_id: ConversationId) -> None:
        """Show no more of it: the answer is about to be stored, or to begin anew."""

    @property
    def is_over(self) -> bool:
        """Return whether the process is about to end, and an answer under way with it."""


@dataclass(frozen=True, slots=True)
class OrderLine:
    """One line of an order; `price` is for one piece."""

    name: str
    sku: str
    quantity: int
    price: Money
    final_sale: bool


@dataclass(frozen=True, slots=True)
class ShopOrder:
    """An order as the shop shows it; `paid` is false for pending, voided and cancelled ones."""

    id: str
    customer_id: CustomerId
    placed_at: datetime
    total: Money
    paid: bool
    cancelled: bool
    fulfillment: str
    lines: tuple[OrderLine, ...]

    def final_sale_total(self) -> Money:
        """Return how much of the total is final sale."""
        minor = sum(line.price.minor * line.quantity for line in self.lines if line.final_sale)
        return Money(min(minor, self.total.minor), self.total.currency)


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer of the shop."""

    id: CustomerId
    name: str
    email: str


class Shop(Protocol):
    """The shop's orders and customers."""

    def customer(self, customer_id: CustomerId) -> Customer | None:
        """Return the customer, None if the shop knows nobody of that id."""

    def order(self, reference: str) -> ShopOrder | None:
        """Return the order a person means by `ord-1001` or `#W2611340`, None if there is none."""

    def orders_of(self, customer_id: CustomerId) -> tuple[ShopOrder, ...]:
        """Return the customer's orders, newest first, at most 50."""


class ProviderStatus(StrEnum):
    """How far a refund has come at the provider."""

    SUCCEEDED = "succeeded"
    PENDING = "pending"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ProviderRefund:
    """A refund in the provider's own book."""

    id: str
    key: str
    order_id: str
    amount: Money
    status: ProviderStatus
    at: datetime


@dataclass(frozen=True, slots=True)
class PaymentView:
    """The payment of an order in the provider's book."""

    captured: Money
    refunds: tuple[ProviderRefund, ...]
    disputed: bool


@dataclass(frozen=True, slots=True)
class RefundRequest:
    """The frozen request of one approval; the same for every try."""

    key: str
    approval_id: ApprovalId
    order_id: str
    amount: Money


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider made the refund, or had made it under this key already."""

    refund: ProviderRefund
    replayed: bool


@dataclass(frozen=True, slots=True)
class Declined:
    """A definite no: no money moved under this key."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class NotStarted:
    """Proof that the provider did nothing: no connection, 401, 403 or 429."""

    problem: str


@dataclass(frozen=True, slots=True)
class NoClearAnswer:
    """Time-out, dropped link, 5xx or nonsense: the refund may or may not exist."""

    problem: str


PaymentAnswer = Accepted | Declined | NotStarted | NoClearAnswer


class Payments(Protocol):
    """The payment provider."""

    def view(self, order_id: str, currency: str) -> PaymentView:
        """Return the payment of an order; captured is zero when it was never paid."""

    def refund(self, request: RefundRequest) -> PaymentAnswer:
        """Pay back; the same key with the same bytes pays once, however often it is sent."""

    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        """Look the refund up by its key; None when the provider's book provably lacks it."""


@dataclass(frozen=True, slots=True)
class Mail:
    """One e-mail as it leaves; `message_id` is fixed per approval and the same for every try.

    It has no angle brackets, nor have `references`, the mails that it belongs with, the oldest
    first. `body` is plain text, `html` the same once more for those who read that. Answers go to
    `reply_to`, an address as MAIL_FROM is written, where that is not the sender.
    """

    message_id: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    body: str
    date: datetime
    html: str | None = None
    reply_to: str | None = None
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MailAccepted:
    """The server took responsibility for the mail; `reply` is its last line."""

    message_id: str
    reply: str


MailAnswer = MailAccepted | Declined | NotStarted | NoClearAnswer


class Mailer(Protocol):
    """The way out for e-mail."""

    @property
    def available(self) -> bool:
        """Return whether mail can leave at all; where it cannot, none is to be proposed."""
        return True

    def send(self, mail: Mail) -> MailAnswer:
        """Hand the mail over to all recipients or to none; never raises for what happens there."""

    def find(self, message_id: str) -> MailAccepted | NoClearAnswer | None:
        """Look whether it left; NoClearAnswer where nobody can be asked, None when provably not."""


@dataclass(frozen=True, slots=True)
class FlagRequest:
    """A fraud flag as it is entered; the same key enters it once. `score` is decimal text."""

    key: str
    approval_id: ApprovalId
    customer_id: CustomerId
    order_id: str | None
    score: str
    action: FlagAction
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlagRecord:
    """A fraud flag in the shop's own book."""

    id: str
    key: str
    customer_id: CustomerId
    order_id: str | None
    score: str
    action: FlagAction
    signals: tuple[str, ...]
    at: datetime


class FraudBook(Protocol):
    """Where the shop keeps its fraud signals."""

    def put(self, request: FlagRequest) -> FlagRecord:
        """Enter a flag with what it triggers; a key that is there already enters nothing."""

    def find(self, key: str) -> FlagRecord | None:
        """Return the flag of a key, None when there is none."""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """A posted Slack message."""

    channel: str
    ts: str


class DeliveryKind(StrEnum):
    """What kind of message leaves for Slack."""

    CARD = "card"
    CARD_UPDATE = "card_update"
    THREAD = "thread"
    QUESTION = "question"
    ANSWER = "answer"
    EPHEMERAL = "ephemeral"
    HAND_OFF = "hand_off"
    MAIL_LINE = "mail_line"
    HAND_OFF_UPDATE = "hand_off_update"
    HAND_OFF_LINE = "hand_off_line"
    REVIEW = "review"
    REVIEW_UPDATE = "review_update"
    ALERT = "alert"
    ALERT_UPDATE = "alert_update"
    ALERT_LINE = "alert_line"
    PING = "ping"
    PING_UPDATE = "ping_update"
    PING_LINE = "ping_line"
    DIGEST = "digest"
    DAILY_DIGEST = "daily_digest"
    HOME = "home"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One outbox row ready to leave.

    `approval`, `alert`, `queue` and `hand_off` are read afresh for each try, so a message shows the
    rows as they are now; `refs` are its copies posted so far; `ambiguous` tells that an earlier try
    may have arrived. `channel` is the id of the channel, or of the person, that a new message goes
    to; an earlier try may have gone to one of `channels`. Those in `closed` refuse messages now.
    """

    outbox_id: str
    kind: DeliveryKind
    body: Payload
    approval: ApprovalView | None
    refs: tuple[MessageRef, ...]
    created_at: datetime
    ambiguous: bool
    channel: str
    alert: Alert | None = None
    queue: Queue | None = None
    hand_off: HandOff | None = None
    channels: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()

    @property
    def within_reach(self) -> tuple[MessageRef, ...]:
        """Return the copies that are in no closed channel."""
        return tuple(ref for ref in self.refs if ref.channel not in self.closed)


@dataclass(frozen=True, slots=True)
class Delivered:
    """It is there; `refs` are messages that were not known before, `lost_refs` are gone.

    `closed` are channels that turned out to refuse what was to be done there, with the reason;
    `complaint` is what the receiver had against the message before it took a plainer one.
    """

    refs: tuple[MessageRef, ...] = ()
    lost_refs: tuple[MessageRef, ...] = ()
    closed: tuple[tuple[str, str], ...] = ()
    complaint: str | None = None


@dataclass(frozen=True, slots=True)
class Limited:
    """Too much for this place; `after_s` seconds is what the receiver asks to wait."""

    problem: str
    after_s: float | None
    ambiguous: bool


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nobody there, or nobody in their right mind: what is to be looked at before the next try."""

    problem: str
    ambiguous: bool


@dataclass(frozen=True, slots=True)
class TryAgain:
    """The receiver is well and did not take this message; it may yet."""

    problem: str
    ambiguous: bool


@dataclass(frozen=True, slots=True)
class ChannelClosed:
    """The channel of this id refuses messages until a person mends it."""

    problem: str
    channel: str


@dataclass(frozen=True, slots=True)
class NotAuthorized:
    """The receiver does not know the desk any more, or forbids it what it needs."""

    problem: str


@dataclass(frozen=True, slots=True)
class Undeliverable:
    """Trying again cannot help: a person must mend something."""

    problem: str


DeliveryAnswer = (
    Delivered | Limited | NoAnswer | TryAgain | ChannelClosed | NotAuthorized | Undeliverable
)


@dataclass(frozen=True, slots=True)
class Well:
    """The receiver answers, and knows the desk."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The receiver does not answer."""

    problem: str


Pulse = Well | Unreachable | NotAuthorized


class Notifier(Protocol):
    """Carries one outbox row to Slack."""

    @property
    def channels(self) -> Mapping[str, str]:
        """Return the channel id of each place that is a channel, by `agent.domain.places`."""

    def deliver(self, delivery: Delivery) -> DeliveryAnswer:
        """Send it once; never raises for what the receiver answers."""

    def pulse(self) -> Pulse:
        """Ask within two seconds whether the receiver is there and knows the desk."""

    def look(self, channel: str) -> Well | Unreachable | ChannelClosed:
        """Look, within two seconds, whether anything stands against messages to a channel."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A person's roles could not be read; `after_s` seconds is what was asked to wait, if any."""

    problem: str
    after_s: float | None = None


class Rosters(Protocol):
    """Where the roles come from that the desk mirrors."""

    def refresh(self, identity: Identity) -> Unread | None:
        """Read a person's account and roles and store what was read, dated before the first look.

        None when all of it was read, whatever it says.
        """


class HeadCopy(Protocol):
    """A copy of the signed heads that lies outside the database."""

    def lines(self) -> Iterator[str]:
        """Yield each head as its line was written; raises OSError."""

    def catch_up(self, after: Callable[[int], Sequence[Head]]) -> int:
        """Append what `after` returns of newer heads, until that is nothing; return how many.

        Raises OSError when it cannot be written, InvalidInput when it is damaged at its end.
        """
