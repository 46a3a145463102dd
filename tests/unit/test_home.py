"""What a reader sees: the tab in every state, whatever is written in it, and the numbers."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.alerts import Alert, AlertKind
from agent.domain.approvals import ApprovalView, Status, Verdict
from agent.domain.breaker import BreakerState
from agent.domain.ids import ApprovalId
from agent.domain.queue import Deed, Page, Seat, Standing, Waiting
from agent.domain.roles import Role
from agent.domain.stats import Act, Outcome, Ran, Tally, Waits
from agent.steps.queue import Look, Numbers, Powers, Switches
from bot.sandbox.block_limits import VIEW_BLOCKS, check_message, check_view
from bot.slack.blocks import Block, fallback
from bot.slack.commands import help_blocks
from bot.slack.home import DEEDS, ROWS, home_view, outside_view, plain_view, stamped, tools
from bot.slack.inputs import modal
from bot.slack.names import View
from bot.slack.numbers import duration, number_blocks
from bot.slack.rows import plain_row, waiting_row
from bot.slack.standing import switch_blocks, switch_words
from storage.breaker import StopNote
from tests.support.builders import actor, approval
from tests.support.doubles import START
from tests.support.drawn import objects, read
from tests.support.hostile import LONG, SHORT, TOOLS, assert_harmless, assert_harmless_text, view_of

MIA = actor(Role.REFUND_MANAGER, name="Mia Lindqvist")
SEAT = Seat(Standing.STAFF, MIA, frozenset({Role.REFUND_MANAGER}))
ALL, NONE = Powers(True, True, True, True), Powers(False, False, False, False)  # noqa: FBT003 - four switches
CLOSED = Switches(BreakerState.CLOSED, 3, None, None, None)
ALERT = Alert("breaker_opened:3", AlertKind.BREAKER_OPENED, None, {}, START)
OPENED = Switches(BreakerState.OPEN, 3, START, None, ALERT)


def seen(
    waiting: tuple[Waiting, ...] = (),
    deeds: tuple[Deed, ...] = (),
    switches: Switches = CLOSED,
    powers: Powers = ALL,
) -> Look:
    page = Page(waiting, 0, len(waiting), 0, 1)
    return Look(SEAT, powers, switches, page, 0, 0, deeds, len(deeds), START)


def numbered(number: int) -> ApprovalId:
    return ApprovalId(f"apr_{number:026}")


def action_ids(blocks: object) -> list[str]:
    return [one["action_id"] for one in objects(blocks) if "action_id" in one]


def test_a_full_tab_fits_with_all_that_can_stand_around_it() -> None:
    rows = tuple(Waiting(approval(id=numbered(n)), (), "Clara Nguyen") for n in range(ROWS))
    deeds = tuple(
        Deed(approval(id=numbered(100 + n)), Verdict.APPROVE, START, "Clara Nguyen")
        for n in range(DEEDS + 2)
    )
    page = Page(rows, ROWS, 5 * ROWS, 1, 5)
    stop = StopNote("Olu Bankole", START, "Double payments")
    shown = replace(seen(rows, deeds, replace(OPENED, stop=stop)), mine=page, others=3, unread=9)
    view = stamped(home_view(shown), START)
    assert check_view(view, "home") == []
    assert len(view["blocks"]) <= VIEW_BLOCKS
    told = read(view["blocks"])
    assert "100 requests wait for you" in told
    assert "3 more for other people · 9 more, less urgent, not counted here" in told
    assert "21 to 40 of 100. 60 more." in told
    assert "2 more today." in told
    assert {"home_back", "home_on", "desk_lift", "alert_acknowledge"} <= set(action_ids(view))
    assert "As of " in read(view["blocks"][-1])


@pytest.mark.parametrize(
    ("switches", "powers", "words", "offered"),
    [
        (CLOSED, NONE, "✅ Automatic refunds run.", []),
        (CLOSED, ALL, "✅ Automatic refunds run.", ["desk_stop"]),
        (OPENED, NONE, "paused until 29 Nov 2026, 12:00 UTC.", []),
        (OPENED, ALL, "🚨", ["alert_acknowledge", "breaker_reset", "desk_stop"]),
        (
            replace(OPENED, retry_at=None, alert=None),
            ALL,
            "paused until a person resets them.",
            ["breaker_reset", "desk_stop"],
        ),
        (
            replace(OPENED, alert=replace(ALERT, acknowledged_by="Olu Bankole")),
            ALL,
            "👀 Olu Bankole looks into it.",
            ["breaker_reset", "desk_stop"],
        ),
        (
            replace(OPENED, state=BreakerState.HALF_OPEN, retry_at=None, alert=None),
            NONE,
            "🔎 One automatic refund is let through as a trial; the others wait for it.",
            [],
        ),
        (
            replace(CLOSED, stop=StopNote("", None, "")),
            ALL,
            "🛑 Everything is stopped, by somebody\n",
            ["desk_lift"],
        ),
        (
            replace(OPENED, stop=StopNote("Olu", START, "why"), alert=None),
            ALL,
            "🛑 Everything is stopped, by Olu at 29 Nov 2026, 12:00 UTC: why\n",
            ["breaker_reset", "desk_lift"],
        ),
    ],
)
def test_the_switches_are_told_in_words_and_offered_to_those_who_may(
    switches: Switches, powers: Powers, words: str, offered: list[str]
) -> None:
    assert words in switch_words(switches)
    blocks = switch_blocks(switches, powers, "5 of 5.")
    assert action_ids(blocks) == offered
    assert "5 of 5." in read(blocks)
    assert check_message(blocks) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "⏳ Decide by \n · asked \n160"),
        ({"pinged": 1}, " · asked \n160"),
        ({"pinged": 2}, " · asked \n · 🔔 on call was told\n160"),
        ({"pinged": 3, "escalations": 1}, "⏫ Escalated: decide by \n · asked \n160"),
        ({"taken_by": "Mia Lindqvist"}, " · 👀 you look into it\n"),
        ({"taken_by": "Max Okonkwo", "pinged": 2}, "told\n · 👀 Max Okonkwo looks into it\n"),
    ],
)
def test_a_row_tells_how_far_it_was_brought_up_and_who_looks_into_it(
    changes: dict[str, Any], told: str
) -> None:
    row = waiting_row(Waiting(approval(**changes), (), "Clara Nguyen"), MIA, 0)
    assert told in read(row)


def views(shown: ApprovalView, text: str) -> list[Block]:
    """Return everything that can be looked at, with a hostile text wherever there is one."""
    own, votes = shown.approval, shown.votes
    taken = replace(own, taken_by=text[:200])
    alert = Alert("s", AlertKind.BREAKER_OPENED, None, {}, START, text, START)
    stop = StopNote(text, START, text)
    tally = Tally(START, dict.fromkeys(Outcome, 1), None, Ran(1, 1))
    people = (Act(text, "approve", 2), Act("Ana", text, 1))
    waiting = Waiting(taken, votes, shown.customer_name)
    deeds = tuple(Deed(own, v, START, shown.customer_name, break_glass=True) for v in Verdict)
    return [
        home_view(seen((waiting,), deeds, replace(OPENED, alert=alert, stop=stop))),
        outside_view(Seat(Standing.UNVERIFIED, problem=text)),
        *(
            modal(View.LOOK, "Look", blocks)
            for blocks in (
                plain_row(own, shown.customer_name, 0),
                help_blocks(text, tools()),
                number_blocks(Numbers(tally, tally, 1, 1, people)),
            )
        ),
    ]


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_that_others_wrote_is_markup_or_unseen_or_refused(tool: str) -> None:
    for text in (*SHORT.values(), *LONG.values()):
        for view in views(view_of(tool, Status.EXECUTED, text), text):
            assert check_view(view, view["type"]) == []
            assert_harmless(view["blocks"])


def test_words_for_notifications_are_harmless_too() -> None:
    for text in (*SHORT.values(), *LONG.values()):
        stopped = replace(CLOSED, stop=StopNote(text, START, text))
        assert_harmless_text(fallback(switch_words(stopped)))


def test_who_is_shown_nothing_reads_which_of_the_reasons_it_is() -> None:
    told = {
        standing: read(outside_view(Seat(standing, problem="slack:oncall: ratelimited"))["blocks"])
        for standing in (Standing.GUEST, Standing.STRANGER, Standing.UNVERIFIED)
    }
    assert "Guests and accounts that are switched off" in told[Standing.GUEST]
    assert "You have no role" in told[Standing.STRANGER]
    assert "could not be verified just now (slack:oncall: ratelimited)" in told[Standing.UNVERIFIED]
    assert check_view(plain_view(), "home") == []


def test_the_numbers_stand_in_columns() -> None:
    none = dict.fromkeys(Outcome, 0)
    today = Tally(START, none | {Outcome.DONE: 2}, None, Ran(1, 0))
    waits = Waits(3, timedelta(minutes=5), timedelta(hours=1, minutes=4))
    week = Tally(START, none | {Outcome.DONE: 1_200, Outcome.UNSEEN: 3}, waits, Ran(31, 2))
    (block,) = (
        one
        for one in objects(number_blocks(Numbers(today, week, 4, 0, None)))
        if one.get("type") == "rich_text_preformatted"
    )
    assert block["elements"][0]["text"].splitlines() == [
        "                             Today      7 days",
        "Approved and done                2       1,200",
        "Rejected                         0           0",
        "Nobody decided in time           0           0",
        "Nobody could see it in time      0           3",
        "Ran without a person             1          31",
        "Ran without, and failed          0           2",
        "",
        "Half were answered within        -  5 min 00 s",
        "Nine of ten within               -  1 h 04 min",
    ]
    lengths = (timedelta(seconds=59.6), timedelta(), timedelta(hours=25, minutes=1))
    assert [duration(length) for length in lengths] == ["1 min 00 s", "0 s", "25 h 01 min"]
