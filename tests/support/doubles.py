"""Ports that a test holds in its hands: a clock that stands still, ids that count."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from agent.domain.ids import Prefix
from agent.domain.places import Pace

# What does not try the pace of messages does not wait for it.
UNPACED = Pace(timedelta(0), timedelta(0), timedelta(0))
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass
class HandClock:
    """A clock that moves only when told to."""

    at: datetime = START

    def now(self) -> datetime:
        """Return the time it was set to."""
        return self.at

    def advance(self, **amount: float) -> None:
        """Move on by a timedelta's arguments."""
        self.at += timedelta(**amount)


@dataclass
class CountingIds:
    """Ids of the right shape that count up, so that stories read the same each time."""

    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def new(self, prefix: Prefix) -> str:
        """Return the next id, a well-formed ULID."""
        number, digits = next(self.numbers), ""
        for _ in range(26):
            number, digit = divmod(number, 32)
            digits = _ALPHABET[digit] + digits
        return f"{prefix}_{digits}"

    def secret(self) -> str:
        """Return the next secret."""
        return f"secret-{next(self.numbers):037d}"

    def jitter(self) -> float:
        """Return no jitter."""
        return 0.0
