"""When a proposal lapses, when an approval does, and when an unknown is looked at again."""

from datetime import datetime, timedelta

# facts/payments.md: Stripe keeps keys at least 24 h; inside 23 h the same key is safe to re-send.
RESEND_WINDOW = timedelta(hours=23)
# More than every time-out and retry of one provider call together (design.md §8).
EXECUTION_LEASE = timedelta(seconds=90)
TURN_LEASE = timedelta(seconds=60)
DELIVERY_LEASE = timedelta(seconds=60)
# A replica silent for so long has lost its leases (design.md §8).
REPLICA_SILENT = timedelta(seconds=15)
FACTS_MAX_AGE = timedelta(seconds=30)
UNKNOWN_ALERT_AFTER = timedelta(minutes=5)
_LONGEST_BACKOFF = timedelta(minutes=10)


def is_past(deadline: datetime, now: datetime) -> bool:
    """Tell whether a deadline is over; exactly at it, it is."""
    return now >= deadline


def backoff(attempts: int, *, base: timedelta, jitter: float) -> timedelta:
    """Return how long to wait before try `attempts` + 1: doubling, capped at 10 minutes.

    `jitter` is a random number of [0, 1) from the caller; it adds up to a quarter.
    """
    factor = 1 << min(max(attempts - 1, 0), 20)
    return min(base * factor, _LONGEST_BACKOFF) * (1 + jitter / 4)


def may_resend(first_sent_at: datetime | None, now: datetime) -> bool:
    """Tell whether the same key and bytes may be sent again without asking a person."""
    return first_sent_at is not None and now - first_sent_at < RESEND_WINDOW
