"""What every step is given: the store, the policy and the ports, wired once by app.py."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from agent.domain.policy import Policy
from agent.ports import ChatModel, Clock, FraudBook, Ids, Mailer, Payments, Rosters, Shop
from storage.transaction import Store


class Lane(StrEnum):
    """A kind of work that a worker waits for."""

    TURN = "turn"
    EXECUTE = "execute"
    SLACK = "slack"
    CLICK = "click"
    HOME = "home"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything a step may reach. `replica` names this process in leases and heartbeats.

    `wake` rouses the workers of a lane after a commit; losing it loses no work, only time.
    `oncall_mail` are the addresses of people on call, for when Slack itself is the trouble.
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
