"""Worker threads and APScheduler jobs; each calls one step, catches everything and says so.

The interval jobs are the safety net (design.md §17): new work wakes its worker at once, a lost
wake-up costs at most one interval.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.base import BaseScheduler

from agent.desk import Desk, Lane
from storage import heartbeats

log = logging.getLogger(__name__)

_WORKERS = {Lane.TURN: 3, Lane.EXECUTE: 2, Lane.SLACK: 1}
_NET_INTERVAL_S = 1
_BEAT_INTERVAL_S = 5
_DRAIN_S = 3.0


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

    def wait(self, lane: Lane, heard: int) -> int:
        """Return the number of rings, after waiting for one more than `heard`."""
        with self._bells[lane]:
            self._bells[lane].wait_for(lambda: self._rung[lane] > heard)
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


class Jobs:
    """The workers and jobs of one process."""

    def __init__(
        self,
        desk: Desk,
        wakeups: Wakeups,
        lanes: dict[Lane, Callable[[], object]],
        jobs: tuple[Job, ...],
        after_work: Callable[[], None],
    ) -> None:
        """Keep what is to be run; `after_work` is told when customers may have news."""
        self._desk = desk
        self._wakeups = wakeups
        self._lanes = lanes
        self._jobs = jobs
        self._after_work = after_work
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
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
        self._every(Job("replica", _BEAT_INTERVAL_S, self._beat))
        self._every(Job("net", _NET_INTERVAL_S, self._ring_all))
        for job in self._jobs:
            self._every(job)
        self._scheduler.start()

    def stop(self) -> None:
        """Stop taking up work, let what is under way end for a bounded time, sign off."""
        self._stopping.set()
        self._scheduler.shutdown(wait=False)
        self._ring_all()
        for thread in self._threads:
            thread.join(_DRAIN_S)
        with self._desk.store.transaction() as tx:
            heartbeats.forget(tx, self._desk.replica)

    def _serve(self, lane: Lane, work: Callable[[], object]) -> None:
        heard = 0
        while not self._stopping.is_set():
            # Read the bell before the work: a ring during it is heard afterwards.
            rung = self._wakeups.rings(lane)
            if self._guarded(lane.value, work):
                self._after_work()
                continue
            heard = self._wakeups.wait(lane, max(heard, rung))

    def _every(self, job: Job) -> None:
        def run() -> None:
            if self._stopping.is_set():
                return
            done = self._guarded(job.name, job.work)
            if done and job.name not in {"replica", "net"}:
                self._after_work()

        first = self._desk.clock.now() + timedelta(seconds=min(job.every_s, 0.2))
        self._scheduler.add_job(
            run, "interval", seconds=job.every_s, id=job.name, next_run_time=first
        )

    def _guarded(self, name: str, work: Callable[[], object]) -> bool:
        """Do some work and return whether there was any; a failure is logged and shown."""
        try:
            return bool(work())
        except Exception as failure:
            log.exception("%s failed", name)
            self._note(name, f"{type(failure).__name__}: {failure}"[:500])
            self._stopping.wait(1.0)
            return False

    def _note(self, name: str, problem: str) -> None:
        try:
            with self._desk.store.transaction() as tx:
                now = self._desk.clock.now()
                heartbeats.beat(tx, self._desk.replica, name, now, problem)
        except Exception:
            log.exception("the heartbeat of %s cannot be written", name)

    def _ring_all(self) -> bool:
        for lane in self._lanes:
            self._wakeups.wake(lane)
        return True

    def _beat(self) -> bool:
        with self._desk.store.transaction() as tx:
            now = self._desk.clock.now()
            heartbeats.beat(tx, self._desk.replica, heartbeats.REPLICA, now)
            for name in ("scheduler", *(lane.value for lane in self._lanes)):
                heartbeats.beat(tx, self._desk.replica, name, now)
        return True
