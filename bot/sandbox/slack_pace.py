"""Slack's limit on posts: one a second in each channel, with short bursts."""

from collections.abc import Callable
from math import ceil

POSTS_PER_SECOND = 1.0


class Pace:
    """Counts posts by channel; `burst` many may come at once, None counts nothing.

    `refused` is how many posts came too soon since the start.
    """

    def __init__(self, burst: int | None, monotonic: Callable[[], float]) -> None:
        self.burst = burst
        self._monotonic = monotonic
        self.refused = 0
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, channel_id: str) -> int | None:
        """Count a post; where it came too soon, return after how many seconds to try again."""
        if self.burst is None:
            return None
        now = self._monotonic()
        left, at = self._left.get(channel_id, (float(self.burst), now))
        left = min(float(self.burst), left + (now - at) * POSTS_PER_SECOND)
        if left < 1:
            # A post that was refused does not count.
            self._left[channel_id] = left, now
            self.refused += 1
            return ceil((1 - left) / POSTS_PER_SECOND)
        self._left[channel_id] = left - 1, now
        return None
