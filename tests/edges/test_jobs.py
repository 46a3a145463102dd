"""Workers and jobs: woken at once, never stopped by a failure, gone in good order."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from agent.desk import Desk, Lane
from agent.providers.system import SystemClock, SystemIds
from bot.jobs import Heartbeat, Job, Jobs, Wakeups
from storage import heartbeats
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock

PATIENCE_S = 20.0


@dataclass
class Work:
    """Something to do that says when it was done."""

    fails: int = 0
    done: threading.Event = field(default_factory=threading.Event)
    calls: int = 0

    def __call__(self) -> bool:
        """Fail as often as told, then succeed."""
        self.calls += 1
        if self.calls <= self.fails:
            raise RuntimeError("planned")
        self.done.set()
        return False


@pytest.fixture
def desk(store: Store, clock: HandClock, ids: CountingIds) -> Desk:
    """Return a desk that lives by the machine's clock."""
    story: Story = tell_story(store, clock, ids)
    return replace(story.desk, clock=SystemClock(), ids=SystemIds(), replica="srv-jobs")


Start = Callable[..., Jobs]


@pytest.fixture
def start(desk: Desk) -> Iterator[Start]:
    """Start jobs that are stopped at the end."""
    running: list[Jobs] = []

    def begin(wakeups: Wakeups, lanes: Mapping[Lane, Callable[[], object]], *jobs: Job) -> Jobs:
        made = Jobs(desk, wakeups, dict(lanes), jobs, after_work=lambda: None)
        made.start()
        running.append(made)
        return made

    yield begin
    for jobs in running:
        jobs.stop()


def beats(desk: Desk) -> dict[str, str | None]:
    """Return what the heartbeats of the desk say, by job."""
    with desk.store.transaction(write=False) as tx:
        return {
            beat.job: beat.problem
            for beat in heartbeats.everything(tx)
            if beat.replica == desk.replica
        }


def test_a_wake_up_is_heard_at_once(start: Start) -> None:
    wakeups, work = Wakeups(), Work()
    start(wakeups, {Lane.EXECUTE: work})
    assert work.done.wait(PATIENCE_S)
    work.done.clear()
    wakeups.wake(Lane.EXECUTE)
    assert work.done.wait(PATIENCE_S)


def test_seven_slow_answers_hold_up_no_eighth_customer(start: Start) -> None:
    meeting = threading.Barrier(8)
    met = threading.Semaphore(0)

    def answers() -> bool:
        meeting.wait(PATIENCE_S)
        met.release()
        return False

    wakeups = Wakeups()
    start(wakeups, {Lane.TURN: answers})
    assert all(met.acquire(timeout=PATIENCE_S) for _ in range(8))
    # Whoever looks once more at the end waits for nobody.
    meeting.abort()


def test_a_failure_is_shown_and_the_worker_goes_on(start: Start) -> None:
    work = Work(fails=1)
    start(Wakeups(), {Lane.SLACK: work})
    assert work.done.wait(PATIENCE_S)
    assert work.calls > 1


def test_a_job_that_fails_comes_again_soon(start: Start) -> None:
    work = Work(fails=1)
    start(Wakeups(), {}, Job("people", 3600, work, retry_s=0.1))
    assert work.done.wait(PATIENCE_S)


def test_a_failing_job_shows_its_problem(desk: Desk, start: Start) -> None:
    seen = threading.Event()

    def fail() -> None:
        seen.set()
        raise RuntimeError("planned")

    made = start(Wakeups(), {}, Job("sweep", 3600, fail))
    assert seen.wait(PATIENCE_S)
    probe = Work()

    def shown() -> bool:
        if beats(desk).get("sweep") == "RuntimeError: planned":
            probe.done.set()
        return False

    start(Wakeups(), {}, Job("probe", 0.1, shown))
    assert probe.done.wait(PATIENCE_S)
    made.stop()


def test_stopping_signs_off(desk: Desk, start: Start) -> None:
    work = Work()
    jobs = start(Wakeups(), {Lane.TURN: work})
    assert work.done.wait(PATIENCE_S)
    assert "replica" in beats(desk)
    jobs.stop()
    assert beats(desk) == {}


def test_a_command_shows_life_while_it_lasts(desk: Desk) -> None:
    with Heartbeat(desk):
        assert set(beats(desk)) == {"replica"}
    assert beats(desk) == {}
