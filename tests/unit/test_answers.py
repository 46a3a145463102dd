"""What an answer of the outside makes of a row: every status, every answer."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.approvals import RESERVING, Approval, Event, Status, move
from agent.domain.audit import AuditType
from agent.domain.payload import Payload
from agent.ports import Declined, NoClearAnswer, NotStarted
from agent.steps.answers import RECONCILE, Ending, judge_answer
from agent.tools.effects import EffectAnswer, Recorded
from tests.support.builders import approval
from tests.support.doubles import START

S, E = Status, Event
RECORD: Payload = {"refund_id": "rf_1"}
SAID: Payload = {"code": "card_expired", "message": "The card has expired."}
PROBLEM: Payload = {"problem": "504"}
YES = Recorded(RECORD, done=True)
NOT_YET = Recorded(RECORD, done=True, settled=False)
CAME_BACK = Recorded(RECORD, done=False)
NO = Declined("card_expired", "The card has expired.")
NOT_BEGUN = NotStarted("504")
UNCLEAR = NoClearAnswer("504")
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)

ENDED, UNKNOWN = AuditType.EXECUTION_ENDED, AuditType.EXECUTION_UNKNOWN
RETURNED = AuditType.EXECUTION_RETURNED


def row(status: Status, **changes: Any) -> Approval:
    return approval(status=status, **({"attempts": 1} | changes))


def judged(
    current: Approval,
    answer: EffectAnswer,
    claimed: Approval | None = None,
    jitter: float = 0,
    *,
    unsent: bool = False,
) -> Ending:
    """Return what the answer to the current try makes of the row."""
    tried = current if claimed is None else claimed
    return judge_answer(tried, current, answer, START, jitter, unsent=unsent)


# What a definite answer moves; a status that is not named is not moved by it.
DONE = {S.EXECUTING: E.PROVIDER_YES, S.UNKNOWN: E.FOUND_DONE}
REFUSED = {S.EXECUTING: E.PROVIDER_NO, S.UNKNOWN: E.FOUND_FAILED}
# Only the outside's own record of a failure undoes what was done.
RETURNED_MONEY = REFUSED | {S.EXECUTED: E.LATE_FAILURE}
# What already says so contradicts nothing.
AGREES = {"it was done": S.EXECUTED, "it failed": S.FAILED}


def definite(
    status: Status, moves: dict[Status, Event], outcome: str, record: Payload, says: str
) -> Ending:
    """Return what a definite answer that leads to nothing further makes of a status."""
    if status in moves:
        return Ending(moves[status], ENDED, outcome, record, ended_at=START)
    against = None if status is AGREES[says] else says
    return Ending(None, ENDED, outcome, record, contradiction=against)


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize(
    ("answer", "moves", "outcome", "record", "says"),
    [
        pytest.param(YES, DONE, "accepted", RECORD, "it was done", id="a record of it"),
        pytest.param(
            CAME_BACK, RETURNED_MONEY, "returned", RECORD, "it failed", id="a record of a failure"
        ),
        pytest.param(
            Recorded(RECORD, done=False, settled=False),
            RETURNED_MONEY,
            "returned",
            RECORD,
            "it failed",
            id="a failure that may change",
        ),
        pytest.param(NO, REFUSED, "declined", SAID, "it failed", id="a definite no"),
    ],
)
def test_a_definite_answer(
    status: Status,
    answer: EffectAnswer,
    moves: dict[Status, Event],
    outcome: str,
    record: Payload,
    says: str,
) -> None:
    assert judged(row(status), answer) == definite(status, moves, outcome, record, says)


@pytest.mark.parametrize("status", list(Status), ids=str)
def test_what_the_outside_may_still_undo_is_asked_about_again(status: Status) -> None:
    final = definite(status, DONE, "accepted", RECORD, "it was done")
    # Also where it was done before: hearing that it is pending still does not end the looking.
    wake_at = START + HOUR if status in {*DONE, S.EXECUTED} else None
    assert judged(row(status), NOT_YET) == replace(final, wake_at=wake_at)


@pytest.mark.parametrize("status", [S.EXECUTED, S.FAILED], ids=str)
def test_what_agrees_and_is_final_is_not_looked_at_again(status: Status) -> None:
    answers: list[EffectAnswer] = [YES] if status is S.EXECUTED else [NO, CAME_BACK]
    for answer in answers:
        ending = judged(row(status, wake_at=START + SECOND), answer)
        assert (ending.event, ending.wake_at, ending.contradiction) == (None, None, None)


def test_only_the_record_undoes_what_was_done() -> None:
    """A late "declined" speaks of another try, so it must not free what may have been paid."""
    reconciled = [Declined(code, "") for code in sorted(RECONCILE)]
    answers: list[EffectAnswer] = [NO, NOT_BEGUN, UNCLEAR, *reconciled]
    for answer in answers:
        for looked_at in (None, START - SECOND):
            assert judged(row(S.EXECUTED, looked_at=looked_at), answer).event is None
    assert judged(row(S.EXECUTED), CAME_BACK).event is E.LATE_FAILURE


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize("tries", [1, 2, 3])
def test_the_answer_of_an_earlier_try_settles_the_row_too(status: Status, tries: int) -> None:
    current, claimed = row(status, attempts=tries), row(S.EXECUTING, attempts=1)
    for answer in (YES, NOT_YET, CAME_BACK, NO):
        assert judged(current, answer, claimed) == judged(current, answer)


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize("code", sorted(RECONCILE))
@pytest.mark.parametrize("looks", [0, 1, 2])
@pytest.mark.parametrize("looked_at", [None, START - SECOND], ids=["no look", "looked"])
def test_what_may_have_been_our_own_try_is_looked_up_first(
    status: Status, code: str, looks: int, looked_at: datetime | None
) -> None:
    seen = row(status, clean_looks=looks, looked_at=looked_at)
    ending = judged(seen, Declined(code, "already"))
    said: Payload = {"code": code, "message": "already"}
    if looked_at is not None:
        assert ending == definite(status, REFUSED, "declined", said, "it failed")
    else:
        event = E.SILENCE if status is S.EXECUTING else None
        wake_at = START + 5 * SECOND
        assert ending == Ending(event, UNKNOWN, "unclear", said, wake_at=wake_at)


def test_a_look_before_the_try_counts_and_none_of_later() -> None:
    """A row as it was claimed tells which looks came before its try was sent."""
    answer = Declined("charge_already_refunded", "already")
    blind, looked = row(S.EXECUTING), row(S.EXECUTING, looked_at=START - SECOND)
    assert judged(looked, answer, blind).event is E.SILENCE
    assert judged(blind, answer, looked).event is E.PROVIDER_NO


def test_what_is_looked_up_first_is_what_the_provider_may_have_done_itself() -> None:
    assert {"idempotency_error", "charge_disputed", "charge_already_refunded"} == RECONCILE


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize(("claimed", "current"), list(product([1, 2, 3], repeat=2)), ids=str)
def test_what_did_not_start_goes_back_once(status: Status, claimed: int, current: int) -> None:
    ending = judged(row(status, attempts=current), NOT_BEGUN, row(S.EXECUTING, attempts=claimed))
    mine = status is S.EXECUTING and claimed == current
    event, tag = None, UNKNOWN
    if mine:
        event, tag = (E.NOT_STARTED, RETURNED) if current == 1 else (E.SILENCE, UNKNOWN)
    wait = {1: 2, 2: 4, 3: 8}[claimed] * SECOND
    assert ending == Ending(event, tag, "not_started", PROBLEM, wake_at=START + wait)


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize(("claimed", "current"), list(product([1, 2, 3], repeat=2)), ids=str)
def test_what_never_began_goes_back_as_often_as_it_takes(
    status: Status, claimed: int, current: int
) -> None:
    here, before = row(status, attempts=current), row(S.EXECUTING, attempts=claimed)
    ending = judged(here, NOT_BEGUN, before, unsent=True)
    mine = status is S.EXECUTING and claimed == current
    event, tag = (E.NOT_STARTED, RETURNED) if mine else (None, UNKNOWN)
    wait = {1: 2, 2: 4, 3: 8}[claimed] * SECOND
    assert ending == Ending(event, tag, "not_started", PROBLEM, wake_at=START + wait)


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize("tries", [1, 2, 3])
def test_only_what_did_not_start_asks_whether_an_earlier_try_had(
    status: Status, tries: int
) -> None:
    here = row(status, attempts=tries)
    reconciled = [Declined(code, "") for code in sorted(RECONCILE)]
    answers: list[EffectAnswer] = [YES, NOT_YET, CAME_BACK, NO, UNCLEAR, *reconciled]
    for answer in answers:
        assert judged(here, answer, unsent=True) == judged(here, answer)


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize(("claimed", "current"), list(product([1, 2, 3], repeat=2)), ids=str)
def test_silence_moves_only_the_try_that_is_under_way(
    status: Status, claimed: int, current: int
) -> None:
    ending = judged(row(status, attempts=current), UNCLEAR, row(S.EXECUTING, attempts=claimed))
    mine = status is S.EXECUTING and claimed == current
    wait = {1: 5, 2: 10, 3: 20}[claimed] * SECOND
    event = E.SILENCE if mine else None
    assert ending == Ending(event, UNKNOWN, "unclear", PROBLEM, wake_at=START + wait)


def test_chance_lengthens_a_wait_by_up_to_a_quarter() -> None:
    here = row(S.EXECUTING)
    assert judged(here, UNCLEAR, jitter=0.5).wake_at == START + timedelta(seconds=5.625)
    assert judged(here, NOT_BEGUN, jitter=0.5).wake_at == START + timedelta(seconds=2.25)
    assert judged(here, NOT_YET, jitter=0.5).wake_at == START + HOUR


ANSWERS = st.one_of(
    st.builds(Recorded, st.just(RECORD), done=st.booleans(), settled=st.booleans()),
    st.builds(Declined, st.sampled_from(sorted(RECONCILE | {"card_expired"})), st.just("")),
    st.sampled_from([NOT_BEGUN, UNCLEAR]),
)
GOES_ON = {S.APPROVED, S.UNKNOWN}


@given(
    status=st.sampled_from(list(Status)),
    answer=ANSWERS,
    tries=st.integers(1, 40),
    behind=st.integers(0, 2),
    looked_at=st.sampled_from([None, START - SECOND]),
    jitter=st.floats(0, 1, exclude_max=True),
    unsent=st.booleans(),
)
def test_every_ending_is_a_move_of_the_table(
    status: Status,
    answer: EffectAnswer,
    tries: int,
    behind: int,
    looked_at: datetime | None,
    jitter: float,
    *,
    unsent: bool,
) -> None:
    current = row(status, attempts=tries, looked_at=looked_at)
    claimed = row(S.EXECUTING, attempts=max(1, tries - behind), looked_at=looked_at)
    ending = judged(current, answer, claimed, jitter, unsent=unsent)
    if ending.event is None:
        assert ending.ended_at is None
        return
    target = move(status, ending.event)
    assert ending.contradiction is None
    assert (ending.ended_at is None) is (target in GOES_ON)
    # Whatever goes on is looked at again, and never in the past.
    assert target not in GOES_ON or ending.wake_at is not None
    assert ending.wake_at is None or ending.wake_at > START
    # Nothing but a definite answer lets go of what an effect may have taken.
    if status in RESERVING and target not in RESERVING:
        unbegun = answer == NOT_BEGUN and (unsent or tries == 1)
        assert isinstance(answer, (Recorded, Declined)) or unbegun
