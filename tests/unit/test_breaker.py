"""The breaker: never more than its number in a window, one trial at a time, always ready again."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain.breaker import (
    Admitted,
    Breaker,
    BreakerLimits,
    BreakerState,
    Held,
    admit,
    observe,
    reset,
    shown_state,
    trial_ended,
)
from agent.domain.deadlines import EXECUTION_LEASE
from agent.domain.ids import ApprovalId
from tests.support.builders import LIMITS, breaker
from tests.support.doubles import START

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@dataclass(frozen=True)
class Entry:
    """One admission in the log, as storage keeps it."""

    id: ApprovalId
    at: datetime
    generation: int
    trial: bool


@dataclass
class Counter:
    """The row, the log of admissions and the time; asks and answers as the step does."""

    limits: BreakerLimits = LIMITS
    row: Breaker = field(default_factory=breaker)
    now: datetime = START
    log: list[Entry] = field(default_factory=list)
    opened: int = 0

    def look(self) -> bool:
        """Take note of the time; returns whether the clock stepped back."""
        self.row, stepped = observe(self.row, self.limits, self.now)
        return stepped

    def ask(self) -> Admitted | Held:
        """Ask for one more refund."""
        self.look()
        seen = self.row.last_seen
        now = self.now if seen is None else max(self.now, seen)
        approval_id = ApprovalId(f"apr_{len(self.log)}")
        answer = admit(self.row, self.in_window(now), self.limits, approval_id, now)
        match answer:
            case Admitted(trial=trial):
                self.log.append(Entry(approval_id, now, self.row.generation, trial))
            case Held(opened=opened):
                self.opened += opened
        self.row = answer.breaker
        return answer

    def ran(self, times: int = 1) -> int:
        """Ask so many times and return how many ran."""
        return sum(isinstance(self.ask(), Admitted) for _ in range(times))

    def in_window(self, now: datetime) -> int:
        """Count what this generation admitted in (now - window, now], trials left out."""
        return sum(
            entry.at > now - self.limits.window
            for entry in self.log
            if entry.generation == self.row.generation and not entry.trial
        )

    def ends(self, entry: Entry, *, executed: bool) -> bool:
        """Tell the outcome of an admission; returns whether the breaker minded."""
        self.look()
        after = trial_ended(self.row, entry.id, self.limits, self.now, executed=executed)
        self.row = after or self.row
        return after is not None

    def passes(self, time: timedelta) -> "Counter":
        """Let time pass."""
        self.now += time
        return self


def tripped() -> Counter:
    """Return a breaker that opened at START."""
    counter = Counter()
    assert counter.ran(6) == 5
    assert counter.row.state is OPEN
    return counter


def on_trial() -> Counter:
    """Return a breaker whose trial began 30 s after START."""
    counter = tripped().passes(seconds(30))
    assert counter.ran() == 1
    assert counter.row.state is HALF_OPEN
    return counter


def test_five_in_a_window_run_and_the_sixth_opens_and_does_not() -> None:
    counter = Counter()
    assert [counter.ask() for _ in range(5)] == [Admitted(breaker(), trial=False)] * 5
    held = counter.ask()
    opened = breaker(state=OPEN, retry_at=START + seconds(30))
    assert held == Held(opened, opened=True, retry_at=START + seconds(30))
    assert len(counter.log) == 5


@pytest.mark.parametrize(
    ("later", "runs"),
    [
        pytest.param(timedelta(0), False, id="at the same time"),
        pytest.param(seconds(59.999), False, id="59.999 s later"),
        pytest.param(seconds(60) - TICK, False, id="a microsecond under 60 s later"),
        pytest.param(seconds(60), True, id="60.000 s later"),
        pytest.param(seconds(60) + TICK, True, id="a microsecond over 60 s later"),
    ],
)
def test_the_window_ends_exactly(later: timedelta, runs: bool) -> None:
    counter = Counter()
    assert counter.ran(5) == 5
    assert counter.passes(later).ran() == runs
    assert counter.row.state is (CLOSED if runs else OPEN)


def test_the_window_slides_and_knows_no_minute() -> None:
    edge = START + seconds(60)
    counter = Counter(now=edge - seconds(1))
    assert counter.ran(5) == 5
    assert counter.passes(seconds(2)).ran(5) == 0
    assert counter.row.state is OPEN


def test_each_admission_leaves_the_window_by_itself() -> None:
    counter = Counter()
    for _ in range(5):
        assert counter.ran() == 1
        counter.passes(seconds(10))
    assert counter.passes(seconds(10)).ran() == 1
    assert counter.ran() == 0


@pytest.mark.parametrize(
    ("later", "runs"),
    [
        pytest.param(seconds(29.999), False, id="29.999 s"),
        pytest.param(seconds(30) - TICK, False, id="a microsecond under 30 s"),
        pytest.param(seconds(30), True, id="30.000 s"),
        pytest.param(HOUR, True, id="an hour"),
    ],
)
def test_the_cooldown_ends_exactly(later: timedelta, runs: bool) -> None:
    counter = tripped().passes(later)
    answer = counter.ask()
    if runs:
        assert isinstance(answer, Admitted)
        assert answer.trial
        assert counter.row == breaker(
            state=HALF_OPEN,
            trial_id=counter.log[-1].id,
            trial_until=counter.now + EXECUTION_LEASE,
            last_seen=counter.now,
        )
    else:
        assert answer == Held(counter.row, opened=False, retry_at=START + seconds(30))
        assert counter.row.state is OPEN


def test_an_open_breaker_holds_everything_and_tells_once() -> None:
    counter = tripped()
    for _ in range(20):
        assert counter.passes(seconds(1)).ran() == 0
    assert counter.opened == 1
    assert counter.row.retry_at == START + seconds(30)


def test_of_ten_at_once_after_the_cooldown_one_runs() -> None:
    counter = tripped().passes(seconds(30))
    assert counter.ran(10) == 1
    assert counter.opened == 1


def test_of_ten_at_once_on_replicas_five_seconds_apart_one_runs() -> None:
    counter = tripped().passes(seconds(35))
    ran = 0
    for _ in range(5):
        ran += counter.ran()
        ran += counter.passes(seconds(-5)).ran()
        counter.passes(seconds(5))
    assert ran == 1


def test_while_the_trial_runs_the_others_wait_for_its_lease() -> None:
    counter = on_trial().passes(EXECUTION_LEASE - TICK)
    answer = counter.ask()
    assert answer == Held(counter.row, opened=False, retry_at=START + seconds(120))
    assert counter.row.state is HALF_OPEN


def test_a_trial_that_succeeds_closes_and_the_old_refunds_no_longer_count() -> None:
    counter = on_trial()
    assert counter.ends(counter.log[-1], executed=True)
    assert counter.row == breaker(generation=2, last_seen=counter.now)
    assert counter.ran(6) == 5


def test_a_trial_that_fails_opens_for_a_cooldown_from_the_failure() -> None:
    counter = on_trial().passes(seconds(7))
    assert counter.ends(counter.log[-1], executed=False)
    assert counter.row == breaker(
        state=OPEN, retry_at=START + seconds(67), last_seen=START + seconds(37)
    )
    assert counter.passes(seconds(30) - TICK).ran() == 0
    assert counter.passes(TICK).ran() == 1


def test_the_trial_does_not_count_in_the_new_window() -> None:
    counter = on_trial()
    counter.ends(counter.log[-1], executed=True)
    assert counter.in_window(counter.now) == 0


def test_a_trial_whose_lease_is_lost_opens_for_a_cooldown() -> None:
    counter = on_trial().passes(EXECUTION_LEASE)
    assert counter.ran() == 0
    assert counter.row == breaker(
        state=OPEN, retry_at=START + seconds(150), last_seen=START + seconds(120)
    )
    assert counter.passes(seconds(30)).ran() == 1


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "failed"])
def test_a_trial_result_after_the_lease_changes_nothing(executed: bool) -> None:
    counter = on_trial().passes(EXECUTION_LEASE)
    trial = counter.log[-1]
    counter.look()
    before = counter.row
    assert not counter.ends(trial, executed=executed)
    assert counter.row == before


def test_a_late_result_of_an_old_trial_does_not_end_a_new_one() -> None:
    counter = on_trial().passes(EXECUTION_LEASE)
    old = counter.log[-1]
    counter.look()
    assert counter.passes(seconds(30)).ran() == 1
    assert not counter.ends(old, executed=True)
    assert counter.row.state is HALF_OPEN
    assert counter.ends(counter.log[-1], executed=True)


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "failed"])
def test_only_the_trial_itself_ends_the_trial(executed: bool) -> None:
    counter = on_trial()
    admitted_while_closed = counter.log[0]
    before = counter.row
    assert not counter.ends(admitted_while_closed, executed=executed)
    assert counter.row == before


@pytest.mark.parametrize("make", [Counter, tripped], ids=["closed", "open"])
def test_a_result_outside_a_trial_changes_nothing(make: type[Counter]) -> None:
    counter = make()
    before = counter.row
    entry = Entry(ApprovalId("apr_0"), START, 1, trial=False)
    assert not counter.ends(entry, executed=False)
    assert counter.row == before


@pytest.mark.parametrize("make", [Counter, tripped, on_trial], ids=["closed", "open", "on trial"])
def test_a_reset_closes_and_forgets_the_window(make: type[Counter]) -> None:
    counter = make()
    counter.ran(5)
    counter.row = reset(counter.row)
    assert counter.row == breaker(generation=2, last_seen=counter.now)
    assert counter.ran(6) == 5


@pytest.mark.parametrize("make", [Counter, tripped, on_trial], ids=["closed", "open", "on trial"])
def test_a_step_back_of_a_second_is_jitter(make: type[Counter]) -> None:
    counter = make()
    before = counter.row
    assert not counter.passes(seconds(-1)).look()
    assert counter.row == before


def test_jitter_wins_no_time() -> None:
    counter = tripped().passes(seconds(30) - TICK)
    counter.look()
    assert counter.passes(seconds(-1)).ran() == 0
    assert counter.row.last_seen == START + seconds(30) - TICK


def test_a_longer_step_back_starts_a_closed_breaker_anew() -> None:
    counter = Counter()
    assert counter.ran(5) == 5
    counter.passes(seconds(-1) - TICK)
    assert counter.look()
    assert counter.row == breaker(generation=2, last_seen=counter.now)
    assert counter.ran(6) == 5


@pytest.mark.parametrize("make", [tripped, on_trial], ids=["open", "on trial"])
def test_after_a_longer_step_back_an_open_breaker_waits_a_whole_cooldown(
    make: type[Counter],
) -> None:
    counter = make().passes(-HOUR)
    assert counter.look()
    assert counter.row == breaker(
        state=OPEN, generation=2, retry_at=counter.now + seconds(30), last_seen=counter.now
    )
    assert counter.passes(seconds(30) - TICK).ran() == 0
    assert counter.passes(TICK).ran() == 1


def test_a_step_back_gives_up_the_trial() -> None:
    counter = on_trial()
    trial = counter.log[-1]
    counter.passes(-HOUR)
    assert not counter.ends(trial, executed=True)
    assert counter.row.state is OPEN


def test_after_an_hour_forward_and_back_it_is_not_frozen() -> None:
    counter = tripped().passes(HOUR)
    assert counter.ran() == 1
    assert counter.passes(-HOUR).ran() == 0
    assert counter.passes(seconds(30)).ran() == 1
    counter.ends(counter.log[-1], executed=True)
    assert counter.ran(6) == 5


@pytest.mark.parametrize(
    ("limits", "runs"),
    [
        pytest.param(replace(LIMITS, max_refunds=4), 0, id="fewer"),
        pytest.param(replace(LIMITS, max_refunds=7), 3, id="more"),
        pytest.param(replace(LIMITS, window=seconds(10)), 5, id="a shorter window"),
        pytest.param(replace(LIMITS, window=seconds(11)), 1, id="a window that reaches them"),
    ],
)
def test_new_limits_count_from_the_next_admission(limits: BreakerLimits, runs: int) -> None:
    counter = Counter()
    assert counter.ran(4) == 4
    counter.passes(seconds(10)).limits = limits
    assert counter.ran(10) == runs


def test_a_new_cooldown_counts_from_the_next_opening() -> None:
    counter = tripped()
    counter.limits = replace(LIMITS, cooldown=seconds(5))
    assert counter.passes(seconds(29)).ran() == 0
    assert counter.passes(seconds(1)).ran() == 1
    counter.ends(counter.log[-1], executed=False)
    assert counter.passes(seconds(5)).ran() == 1


@pytest.mark.parametrize("make", [Counter, tripped, on_trial], ids=["closed", "open", "on trial"])
def test_a_restart_remembers_everything(make: type[Counter]) -> None:
    before = make()
    after = Counter(row=replace(before.row), now=before.now, log=[*before.log])
    for counter in (before, after):
        counter.passes(seconds(17)).ran(3)
    assert after.row == before.row


@pytest.mark.parametrize("make", [Counter, tripped, on_trial], ids=["closed", "open", "on trial"])
def test_the_stop_switch_outlasts_whatever_the_breaker_does(make: type[Counter]) -> None:
    counter = make()
    counter.row = replace(counter.row, stopped=True)
    for time in (seconds(30), EXECUTION_LEASE, -HOUR, seconds(30)):
        counter.passes(time).ran(6)
        assert counter.row.stopped
    counter.ends(counter.log[-1], executed=True)
    assert reset(counter.row).stopped


def test_a_breaker_that_saw_nothing_yet_takes_the_time_as_it_is() -> None:
    counter = Counter(row=breaker(last_seen=None), now=START - HOUR)
    assert not counter.look()
    assert counter.row == breaker(last_seen=START - HOUR)


@pytest.mark.parametrize(
    ("make", "later", "state"),
    [
        pytest.param(Counter, timedelta(0), CLOSED, id="closed"),
        pytest.param(tripped, seconds(30) - TICK, OPEN, id="open"),
        pytest.param(tripped, seconds(30), HALF_OPEN, id="ready for its trial"),
        pytest.param(on_trial, timedelta(0), HALF_OPEN, id="on trial"),
    ],
)
def test_the_state_to_show_is(make: type[Counter], later: timedelta, state: BreakerState) -> None:
    counter = make().passes(later)
    assert shown_state(counter.row, counter.now) is state


def test_a_row_that_is_open_without_an_end_is_shown_open() -> None:
    assert shown_state(breaker(state=OPEN), START) is OPEN


Action = tuple[Literal["wait", "back", "ask", "yes", "no", "reset"], timedelta]
EDGES = [0, 1e-6, 1, 29.999999, 30, 59.999999, 60, 89.999999, 90, 3600]
times = st.sampled_from([seconds(edge) for edge in EDGES]) | st.timedeltas(seconds(0), seconds(99))
actions: st.SearchStrategy[Action] = st.one_of(
    st.tuples(st.just("ask"), st.just(timedelta(0))),
    st.tuples(st.sampled_from(["wait", "back", "ask", "ask", "yes", "no", "reset"]), times),
)


class Watched(Counter):
    """A counter that checks its promises after every action."""

    trial: Entry | None = None
    trial_until: datetime = START

    def does(self, action: Action) -> None:
        """Do one thing, and keep the books about the trial by other means than the row."""
        what, time = action
        match what:
            case "wait":
                self.passes(time)
            case "back":
                self.passes(-time)
                if self.look():
                    self.trial = None
            case "ask":
                self.asks_for_one()
            case "yes" | "no":
                if self.log and self.ends(self.log[-1], executed=what == "yes"):
                    self.trial = None
            case "reset":
                self.row, self.trial = reset(self.row), None
        self.keeps_its_promises()

    def asks_for_one(self) -> None:
        """Ask; a trial is let through only when none is under way."""
        self.look()
        answer = self.ask()
        if isinstance(answer, Admitted) and answer.trial:
            assert self.trial is None or self.now >= self.trial_until
            self.trial = self.log[-1]
            self.trial_until = self.trial.at + EXECUTION_LEASE

    def keeps_its_promises(self) -> None:
        """Check the window, the fields of the row, and that it will be ready again."""
        for last in self.log:
            inside = [
                entry
                for entry in self.log
                if entry.generation == last.generation
                and not entry.trial
                and last.at - self.limits.window < entry.at <= last.at
            ]
            assert len(inside) <= self.limits.max_refunds
        row = self.row
        assert (row.retry_at is not None) == (row.state is OPEN)
        assert (row.trial_id is not None) == (row.state is HALF_OPEN)
        assert (row.trial_until is not None) == (row.state is HALF_OPEN)
        later = Counter(self.limits, row, self.now, [*self.log])
        later.look()
        later.passes(EXECUTION_LEASE + seconds(1)).look()  # a second of jitter may be lost
        longest = max(self.limits.cooldown, self.limits.window)
        assert later.passes(longest).ran() == 1


@settings(max_examples=300)
@given(
    done=st.lists(actions, max_size=50),
    most=st.integers(1, 3),
    window=st.sampled_from([20, 60]),
)
def test_whatever_happens_the_breaker_keeps_its_promises(
    done: list[Action], most: int, window: int
) -> None:
    watched = Watched(BreakerLimits(most, seconds(window), seconds(30)))
    for action in done:
        generation = watched.row.generation
        watched.does(action)
        assert watched.row.generation >= generation
