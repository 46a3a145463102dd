"""What every step is given: the store, the policy and the ports, wired once by app.py."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from typing_extensions import override

from agent.domain.ids import ConversationId, RunId
from agent.domain.policy import Policy
from agent.ports import ChatModel, Clock, FraudBook, Ids, Live, Mailer, Payments, Rosters, Shop
from storage.transaction import Store


class Lane(StrEnum):
    """A kind of work that a worker waits for."""

    TURN = "turn"
    EXECUTE = "execute"
    SLACK = "slack"
    CLICK = "click"
    HOME = "home"
    MAIL = "mail"


class Unwatched(Live):
    """A desk whose answers nobody reads before they are whole."""

    @override
    def show(self, conversation_id: ConversationId, run_id: RunId, so_far: str) -> None:
        """Show it to nobody."""

    @override
    def hide(self, conversation_id: ConversationId) -> None:
        """Do nothing."""

    @property
    @override
    def is_over(self) -> bool:
        """Return False: what ends such a desk ends its answers."""
        return False


UNWATCHED = Unwatched()


@dataclass(frozen=True, slots=True)
class CustomerMail:
    """How customers hear by mail what they have not read in the chat.

    A mail leaves `after` the news; `link` is a page of the shop with the chat, `reply_to` where
    answers go, as MAIL_FROM is written.
    """

    after: timedelta
    link: str | None = None
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything a step may reach. `replica` names this process in leases and heartbeats.

    `wake` rouses the workers of a lane after a commit; losing it loses no work, only time.
    `oncall_mail` are the addresses of people on call, for when Slack itself is the trouble.
    Without `customer_mail` customers hear of outcomes in the chat alone; `live` is where they watch
    an answer come.
    """

    store: Store
    clock: Clock
    ids: Ids
    policy: Policy
    shop: Shop
    payments: Payments
    mailer: Mailer
    flags: FraudBook
    model: ChatModel
    rosters: Rosters
    replica: str
    wake: Callable[[Lane], None]
    oncall_mail: tuple[str, ...] = ()
    customer_mail: CustomerMail | None = None
    live: Live = UNWATCHED
