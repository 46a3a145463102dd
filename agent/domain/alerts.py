"""What people on call are told, and until when it is open."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload


class AlertKind(StrEnum):
    """What an alert is about."""

    BREAKER_OPENED = "breaker_opened"
    BREAKER_MISSING = "breaker_missing"
    CLOCK_STEP = "clock_step"
    STOP_THROWN = "stop_thrown"
    UNKNOWN_OUTCOME = "unknown_outcome"
    CONTRADICTION = "contradiction"
    CAME_BACK = "came_back"
    BREAK_GLASS = "break_glass"
    CORRUPT_ROW = "corrupt_row"
    DELIVERIES_STUCK = "deliveries_stuck"
    STALE_HEARTBEAT = "stale_heartbeat"
    SLACK_TROUBLE = "slack_trouble"
    BLOCKS_REFUSED = "blocks_refused"
    UNATTENDED = "unattended"


# What has happened and does not end by itself: it is over when somebody has seen it.
_OVER_WHEN_SEEN = frozenset(
    {
        AlertKind.CLOCK_STEP,
        AlertKind.CONTRADICTION,
        AlertKind.CAME_BACK,
        AlertKind.BREAK_GLASS,
        AlertKind.CORRUPT_ROW,
        AlertKind.BLOCKS_REFUSED,
    }
)
# While one of these lasts refunds are held; everybody hears when that changes.
_HOLDS_REFUNDS = frozenset({AlertKind.BREAKER_OPENED, AlertKind.STOP_THROWN})


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert as it stands.

    `body["text"]` says it in a sentence; what else is in `body` depends on the kind.
    `acknowledged_by` is a person's name; `ended` says in words how it ended, None while it lasts.
    """

    subject: str
    kind: AlertKind
    approval_id: ApprovalId | None
    body: Payload
    opened_at: datetime
    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    ended_at: datetime | None = None
    ended: str | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether what it is about still lasts, as far as the desk knows."""
        return self.ended_at is None


def is_over_when_seen(kind: AlertKind) -> bool:
    """Tell whether nothing but a person's look ends such an alert."""
    return kind in _OVER_WHEN_SEEN


def is_for_the_channel(alert: Alert) -> bool:
    """Tell whether news in an alert's thread are shown in the channel as well.

    Money that moves again is everybody's business, money that stays held until somebody looks.
    """
    watched = alert.is_open and alert.acknowledged_by is not None
    return alert.kind in _HOLDS_REFUNDS and not watched
