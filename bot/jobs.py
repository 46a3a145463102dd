"""Worker threads and APScheduler jobs; each calls one step, catches everything and says so.

The interval jobs are the safety net (design.md §17): new work wakes its worker at once, a lost
wake-up costs at most one interval.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Self

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.base import BaseScheduler

from agent.desk import Desk, Lane
from agent.domain.heartbeats import REPLICA
from storage import heartbeats

log = logging.getLogger(__name__)

# A turn waits for the model most of its time: so many customers are answered at once. Two for
# Slack, so that a place whose call takes long holds up no other.
_WORKERS = {
    Lane.TURN: 8,
    Lane.EXECUTE: 2,
    Lane.SLACK: 2,
    Lane.CLICK: 2,
    Lane.HOME: 1,
    Lane.MAIL: 1,
}
_NET_INTERVAL_S = 1
_BEAT_INTERVAL_S = 5
_DRAIN_S = 3.0
_FIRST_AFTER_S = 0.2
_AFTER_FAILURE_S = 1.0
# What is due may be in another worker's hands: nobody asks for it without a break.
_SHORTEST_WAIT_S = 0.02


class Wakeups:
    """One bell a lane; ringing it twice before anybody listens is ringing it once."""

    def __init__(self) -> None:
        """Make the bells."""
        self._bells = {lane: threading.Condition() for lane in Lane}
        self._rung = dict.fromkeys(Lane, 0)

    def wake(self, lane: Lane) -> None:
        """Rouse the workers of a lane."""
        with self._bells[lane]:
            self._rung[lane] += 1
            self._bells[lane].notify_all()

    def wait(self, lane: Lane, heard: int, timeout_s: float | None = None) -> int:
        """Return the number of rings, after waiting for one more than `heard` or for the time."""
        with self._bells[lane]:
            self._bells[lane].wait_for(lambda: self._rung[lane] > heard, timeout_s)
            return self._rung[lane]

    def rings(self, lane: Lane) -> int:
        """Return how often the lane's bell was rung."""
        with self._bells[lane]:
            return self._rung[lane]


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do every `every_s` seconds; a failure comes again after `retry_s`."""

    name: str
    every_s: float
    work: Callable[[], object]
    retry_s: float | None = None


class Heartbeat:
    """Shows life for as long as a block lasts, so that its leases are not taken for lost."""

    def __init__(self, desk: Desk) -> None:
        """Keep whose life is shown."""
        self._desk = desk
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        """Show life once before anything is claimed, then go on in the background."""
        _beat(self._desk, ())
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Sign off."""
        self._over.set()
        self._thread.join(_DRAIN_S)
        _sign_off(self._desk)

    def _run(self) -> None:
        while not self._over.wait(_BEAT_INTERVAL_S):
            try:
                _beat(self._desk, ())
            except Exception:
                log.exception("the heartbeat cannot be written")


class Jobs:
    """The workers and jobs of one process."""

    def __init__(
        self,
        desk: Desk,
        wakeups: Wakeups,
        lanes: dict[Lane, Callable[[], object]],
        jobs: tuple[Job, ...],
        after_work: Callable[[], None],
        due: Mapping[Lane, Callable[[], datetime | None]] = MappingProxyType({}),
    ) -> None:
        """Keep what is to be run; `after_work` is told when customers may have news.

        `due` tells for a lane when there will be something to do, so that it is done on time.
        """
        self._desk = desk
        self._wakeups = wakeups
        self._lanes = lanes
        self._jobs = jobs
        self._after_work = after_work
        self._due = due
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        # Jobs of the scheduler that are under way; its own shutdown waits for all or for none.
        self._busy, self._idle = 0, threading.Condition()
        self._failures: dict[str, int] = {}
        self._worked: dict[str, bool] = {}
        self._scheduler: BaseScheduler = BackgroundScheduler(
            timezone="UTC",
            executors={"default": ThreadPoolExecutor(max(4, len(jobs)))},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )

    def start(self) -> None:
        """Start every worker and job."""
        self._beat()
        for lane, work in self._lanes.items():
            for number in range(_WORKERS[lane]):
                thread = threading.Thread(
                    target=self._serve, args=(lane, work), name=f"{lane}-{number}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
        self._every(Job(REPLICA, _BEAT_INTERVAL_S, self._beat))
        self._every(Job("net", _NET_INTERVAL_S, self._ring_all))
        for job in self._jobs:
            self._every(job)
        self._scheduler.start()

    def stop(self) -> None:
        """Stop taking up work, let what is under way end for a bounded time, sign off; once."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        # Removing the jobs waits for the scheduler's own pass, which else submits to a closed pool.
        self._scheduler.pause()
        self._scheduler.remove_all_jobs()
        self._scheduler.shutdown(wait=False)
        self._ring_all()
        ends_at = time.monotonic() + _DRAIN_S
        for thread in self._threads:
            thread.join(max(0.0, ends_at - time.monotonic()))
        with self._idle:
            self._idle.wait_for(lambda: self._busy == 0, max(0.0, ends_at - time.monotonic()))
        _sign_off(self._desk)

    def _serve(self, lane: Lane, work: Callable[[], object]) -> None:
        heard = 0
        while not self._stopping.is_set():
            # Read the bell before the work: a ring during it is heard afterwards.
            rung = self._wakeups.rings(lane)
            if self._guarded(lane.value, work):
                self._after_work()
                continue
            heard = self._wakeups.wait(lane, max(heard, rung), self._until_due(lane))

    def _until_due(self, lane: Lane) -> float | None:
        """Return how long nothing is to be done in a lane, in seconds; None for not known."""
        if lane not in self._due:
            return None
        try:
            due = self._due[lane]()
        except Exception:
            log.exception("nobody knows what is due for %s", lane)
            return None
        if due is None:
            return None
        return max((due - self._desk.clock.now()).total_seconds(), _SHORTEST_WAIT_S)

    def _every(self, job: Job) -> None:
        first = self._desk.clock.now() + timedelta(seconds=min(job.every_s, _FIRST_AFTER_S))
        self._scheduler.add_job(
            self._run_job,
            "interval",
            args=(job,),
            seconds=job.every_s,
            id=job.name,
            next_run_time=first,
        )

    def _run_job(self, job: Job) -> None:
        with self._idle:
            if self._stopping.is_set():
                return
            self._busy += 1
        try:
            self._do_job(job)
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def _do_job(self, job: Job) -> None:
        before = self._failures.get(job.name, 0)
        if self._guarded(job.name, job.work):
            self._after_work()
        failed = self._failures.get(job.name, 0) > before
        if failed and job.retry_s is not None:
            again = self._desk.clock.now() + timedelta(seconds=job.retry_s)
            self._scheduler.modify_job(job.name, next_run_time=again)

    def _guarded(self, name: str, work: Callable[[], object]) -> bool:
        """Do some work and return whether there was any; a failure is logged and shown."""
        try:
            done = bool(work())
        except Exception as failure:
            log.exception("%s failed", name)
            self._failures[name] = self._failures.get(name, 0) + 1
            self._note(name, f"{type(failure).__name__}: {failure}"[:500])
            self._stopping.wait(_AFTER_FAILURE_S)
            return False
        if name not in self._failures:
            # The first success shows at once: readiness waits for it.
            self._failures[name] = 0
            _beat(self._desk, (name,))
        self._worked[name] = True
        return done

    def _note(self, name: str, problem: str) -> None:
        try:
            with self._desk.store.transaction() as tx:
                now = self._desk.clock.now()
                heartbeats.fail(tx, self._desk.replica, name, now, problem)
        except Exception:
            log.exception("the heartbeat of %s cannot be written", name)

    def _ring_all(self) -> bool:
        for lane in self._lanes:
            self._wakeups.wake(lane)
        return False

    def _beat(self) -> bool:
        """Show life for the replica and for every worker and job that did its work since."""
        worked, self._worked = self._worked, {}
        _beat(self._desk, ("scheduler", *worked))
        return False


def _beat(desk: Desk, names: tuple[str, ...]) -> None:
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        for name in (REPLICA, *names):
            heartbeats.beat(tx, desk.replica, name, now)


def _sign_off(desk: Desk) -> None:
    with desk.store.transaction() as tx:
        heartbeats.forget(tx, desk.replica)
