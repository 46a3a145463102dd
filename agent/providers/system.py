"""The machine's own clock and source of chance."""

import random
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from typing_extensions import override
from ulid import ULIDGenerator

from agent.domain.ids import Prefix
from agent.ports import Clock, Ids


class SystemClock(Clock):
    """The machine's time."""

    @override
    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


class SharedClock(Clock):
    """The machine's time, corrected by how far it is from the clock that all replicas share.

    Deadlines, windows and leases are compared over replicas, whose own clocks may differ by
    seconds; the database's clock is the one that they have in common.
    """

    def __init__(self, local: Clock, shared: Callable[[], datetime | None]) -> None:
        """Correct nothing until `measure` is called; `shared` returns None where there is none."""
        self._local = local
        self._shared = shared
        self._ahead = timedelta()

    def measure(self) -> timedelta:
        """Compare the clocks and return how far the shared one is ahead.

        The answer took some time to come; it is taken for the time at half of that.
        """
        before = self._local.now()
        shared = self._shared()
        if shared is not None:
            self._ahead = shared - (before + (self._local.now() - before) / 2)
        return self._ahead

    @override
    def now(self) -> datetime:
        """Return the shared time, as far as it is known."""
        return self._local.now() + self._ahead


class SystemIds(Ids):
    """ULIDs that count up within a millisecond, and the system's random source."""

    def __init__(self) -> None:
        """Start a generator of its own, safe to share over threads."""
        self._ulids = ULIDGenerator()
        self._chance = random.SystemRandom()

    @override
    def new(self, prefix: Prefix) -> str:
        """Return a new prefixed ULID."""
        return f"{prefix}_{self._ulids.generate()}"

    @override
    def secret(self) -> str:
        """Return 256 random bits, URL-safe."""
        return secrets.token_urlsafe(32)

    @override
    def jitter(self) -> float:
        """Return a random number of [0, 1)."""
        return self._chance.random()
