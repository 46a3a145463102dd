"""The machine's own clock and source of chance."""

import random
import secrets
from datetime import UTC, datetime

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
