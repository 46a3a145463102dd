"""Simple rate limits: token buckets in this process, for people who hurry and scripts that run."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, ip_address, ip_network
from typing import NamedTuple

from bot.web.problems import Problem

_MOST_BUCKETS = 10_000
_MINUTE_S = 60.0
_IPV6_NETWORK = 64


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How many in a minute, also the most at once. Generous: a person never meets them."""

    messages_per_conversation: int = 30
    posts_per_customer: int = 120
    posts_per_address: int = 600


def household(host: str) -> str:
    """Return under what an address counts: of IPv6 the network, for nobody has one address only."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv4Address):
        return host
    mapped = address.ipv4_mapped
    return str(mapped or ip_network((address, _IPV6_NETWORK), strict=False))


class _Bucket(NamedTuple):
    tokens: float
    at: datetime


class Limiter:
    """One bucket per key, filled evenly over a minute."""

    def __init__(self, per_minute: int, now: Callable[[], datetime]) -> None:
        """Start with every bucket full; `now` is the clock's."""
        self._most = per_minute
        self._now = now
        self._buckets: dict[str, _Bucket] = {}
        self._lock = threading.Lock()

    def take(self, key: str) -> None:
        """Take one; raises Problem 429 with Retry-After in seconds when there is none."""
        with self._lock:
            now = self._now()
            if key not in self._buckets and len(self._buckets) >= _MOST_BUCKETS:
                self._forget_full(now)
            tokens = self._tokens(self._buckets.get(key), now)
            if tokens < 1:
                wait = math.ceil((1 - tokens) * _MINUTE_S / self._most)
                raise Problem(
                    429,
                    "rate_limited",
                    f"Too many at once. Try again in {wait} s.",
                    headers={"Retry-After": str(wait)},
                )
            self._buckets[key] = _Bucket(tokens - 1, now)

    def _tokens(self, bucket: _Bucket | None, now: datetime) -> float:
        if bucket is None:
            return self._most
        # A clock that steps back gives nothing, but takes nothing either.
        passed = max((now - bucket.at).total_seconds(), 0.0)
        return min(bucket.tokens + passed * self._most / _MINUTE_S, self._most)

    def _forget_full(self, now: datetime) -> None:
        kept = {k: b for k, b in self._buckets.items() if self._tokens(b, now) < self._most}
        # Under a flood of addresses all start anew rather than fill the memory.
        self._buckets = kept if len(kept) < _MOST_BUCKETS else {}
