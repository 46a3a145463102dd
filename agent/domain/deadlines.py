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
# Rejections of one order count together so long, in whatever conversation.
REJECTIONS_COUNT_FOR = timedelta(days=1)
# Two looks at the provider's book count as two only so far apart (facts/payments.md §1).
LOOKS_APART = timedelta(minutes=2)
LOOKS_TO_SETTLE = 2
_SHORTEST_LOOK = timedelta(seconds=5)
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


def next_look(first_sent_at: datetime | None, now: datetime, *, jitter: float) -> timedelta:
    """Return how long to wait before asking again about an unknown outcome.

    A quarter of the time it has been unknown, at least 5 seconds, at most 10 minutes. `jitter` is
    a random number of [0, 1) from the caller; it adds up to a quarter.
    """
    age = timedelta(0) if first_sent_at is None else now - first_sent_at
    return min(max(age / 4, _SHORTEST_LOOK), _LONGEST_BACKOFF) * (1 + jitter / 4)


def is_another_look(looked_at: datetime | None, now: datetime) -> bool:
    """Tell whether a look now counts beside the one before."""
    return looked_at is None or now - looked_at >= LOOKS_APART


def may_settle(first_sent_at: datetime | None, clean_looks: int, now: datetime) -> bool:
    """Tell whether a person may settle what stays unknown (design.md §4).

    The key is no longer safe to re-send, and the provider's book was read in vain often enough.
    """
    past = first_sent_at is not None and now - first_sent_at >= RESEND_WINDOW
    return past and clean_looks >= LOOKS_TO_SETTLE


def may_resend(first_sent_at: datetime | None, now: datetime) -> bool:
    """Tell whether the same key and bytes may be sent again without asking a person."""
    return first_sent_at is not None and now - first_sent_at < RESEND_WINDOW
