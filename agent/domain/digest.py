"""One message in place of many: the queue when it is long, and the last day. Pure."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from fractions import Fraction

from agent.domain.approvals import Approval, Status
from agent.domain.escalation import Level
from agent.domain.payload import Json, Payload
from agent.domain.roles import Tier

DAILY_MARK = "daily_digest"
MEDIAN, P90 = Fraction(1, 2), Fraction(9, 10)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for people: how many for whom, since when, and what ends first."""

    tiers: tuple[tuple[Tier, int], ...]
    oldest: datetime
    soonest: tuple[Approval, ...]

    @property
    def total(self) -> int:
        """Return how many requests wait."""
        return sum(number for _, number in self.tiers)


@dataclass(frozen=True, slots=True)
class Ended:
    """How many requests of a tool ended so; `unseen` are time-outs whose card nobody could see."""

    tool: str
    status: Status
    automatic: bool
    number: int
    unseen: int


@dataclass(frozen=True, slots=True)
class Waits:
    """How long people took: half of `number` decisions took `median_s` seconds or less."""

    number: int
    median_s: int
    p90_s: int


@dataclass(frozen=True, slots=True)
class Day:
    """What came to an end between two moments, and what waits when it is told."""

    since: datetime
    until: datetime
    ended: tuple[Ended, ...]
    waits: Waits | None
    approvers: tuple[tuple[str, int], ...]
    edits: tuple[tuple[str, int], ...]
    breaker_openings: int
    waiting: int

    def body(self) -> Payload:
        """Return the numbers as a message carries them: time-outs stand apart from denials."""
        people = [one for one in self.ended if not one.automatic]
        expired = [one for one in people if one.status is Status.EXPIRED]
        automatic = [one for one in self.ended if one.automatic and one.status is Status.EXECUTED]
        outcomes: list[Json] = [
            {"tool": one.tool, "status": one.status.value, "number": one.number}
            for one in people
            if one.status is not Status.EXPIRED
        ]
        return {
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "outcomes": outcomes,
            "expired": _by_tool(expired),
            "unseen": sum(one.unseen for one in expired),
            "waits": None if self.waits is None else _waits(self.waits),
            "approvers": _counted(self.approvers),
            "edits": _counted(self.edits),
            "automatic": _by_tool(automatic),
            "breaker_openings": self.breaker_openings,
            "waiting": self.waiting,
        }


def digest_mark(level: Level) -> str:
    """Return under which name it is known when the queue was last told in place of a level."""
    return f"digest:{level.key}"


def next_digest(newest: datetime | None, now: datetime, every: timedelta) -> datetime | None:
    """Return when a digest of the queue leaves for a level that was not told by itself.

    `newest` is that of the digest before; None is returned where one is on its way already.
    """
    if newest is None or newest + every <= now:
        return now
    return newest + every if newest <= now else None


def latest_day(now: datetime, zone: tzinfo, at: time) -> tuple[datetime, datetime]:
    """Return the newest whole day that ended at the time `at` of `zone`: since and until."""
    today = now.astimezone(zone).date()
    if datetime.combine(today, at, zone) > now:
        today -= _DAY
    return datetime.combine(today - _DAY, at, zone), datetime.combine(today, at, zone)


def rank(number: int, share: Fraction) -> int:
    """Return which of `number` sorted values is the least with the share at or below it, from 0."""
    return max(-(-number * share // 1), 1) - 1


def _by_tool(ended: list[Ended]) -> Json:
    return [{"tool": one.tool, "number": one.number} for one in ended]


def _counted(pairs: tuple[tuple[str, int], ...]) -> Json:
    return [{"text": text, "number": number} for text, number in pairs]


def _waits(waits: Waits) -> Json:
    return {"number": waits.number, "median_s": waits.median_s, "p90_s": waits.p90_s}
