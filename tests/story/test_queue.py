"""What somebody who looks is shown: their own queue by urgency, their day, and requests by name."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from agent.domain.approvals import Approval, Status, Verdict
from agent.domain.breaker import BreakerState
from agent.domain.queue import Page, Seat, Standing, Waiting, page_of
from agent.domain.roles import ActorKind, Identity, Role
from agent.ports import DeliveryKind
from agent.steps.home import keep_home, open_home
from agent.steps.people import link
from agent.steps.queue import READ, Look, find_requests, look, powers_of, take_seat
from agent.steps.stop import lift, stop_all
from agent.steps.sweep import sweep
from agent.steps.take import take_over
from storage import homes, people
from tests.story.ways import (
    ANA,
    BEN,
    MAX,
    MIA,
    OLU,
    actor_of,
    edited,
    executed,
    links,
    parked,
    staff,
    usd,
)
from tests.support.desk import Story
from tests.support.doubles import START

SIZE = 20


def seat(story: Story, who: Identity) -> Seat:
    with story.desk.store.transaction(write=False) as tx:
        return take_seat(tx, who, story.clock.now())


def looks(story: Story, who: Identity, page: int = 0, size: int = SIZE) -> Look:
    with story.desk.store.transaction(write=False) as tx:
        return look(tx, take_seat(tx, who, story.clock.now()), story.clock.now(), page, size)


def mine(story: Story, who: Identity) -> list[str]:
    """Return the ids of what waits for a person, the most urgent first."""
    return [waiting.approval.id for waiting in looks(story, who).mine.rows]


def flag(story: Story) -> Approval:
    """Let a fraud flag wait for managers: it has a day, a refund half an hour."""
    story.proposes(story.opens_chat("cus_david"), story.flag_call("0.90"))
    return story.newest("flag_for_fraud")


def takes(story: Story, row: Approval, who: Identity) -> None:
    """Let somebody say that they look into a request."""
    assert isinstance(take_over(story.desk, row.id, story.order(who)), Approval)


# --- who may look


def test_every_role_may_read_if_it_is_proven_and_nobody_else_may(story: Story) -> None:
    staff(story)
    fresh = story.mirrored("rita", Role.REFUND_APPROVER)
    others = [
        story.hire("gus", Role.REFUND_APPROVER, kind=ActorKind.GUEST),
        story.hire("gone", Role.REFUND_MANAGER, active=False),
        story.hire("sam"),
    ]
    stranger = Identity("slack", "T1:U_nobody")
    told = {who.subject: seat(story, who).standing for who in (ANA, OLU, fresh, stranger, *others)}
    assert told == {
        "ana": Standing.STAFF,
        "olu": Standing.STAFF,
        fresh.subject: Standing.STAFF,
        stranger.subject: Standing.STRANGER,
        "gus": Standing.GUEST,
        "gone": Standing.GUEST,
        "sam": Standing.STRANGER,
    }
    story.clock.advance(seconds=61)
    stale = seat(story, fresh)
    assert (stale.standing, stale.roles) == (Standing.UNVERIFIED, frozenset())
    assert stale.problem == "slack:group not read for over 60 s"
    with pytest.raises(ValueError, match="only staff"):
        looks(story, fresh)
    # Who was never seen may be in the very group that cannot be read.
    with story.desk.store.transaction() as tx:
        people.missed_roster(tx, Role.ONCALL, "slack:oncall", "ratelimited")
    assert seat(story, stranger).problem == "slack:oncall: ratelimited"
    assert seat(story, stranger).standing is Standing.UNVERIFIED
    assert seat(story, ANA).standing is Standing.STAFF


def test_the_switches_follow_the_roles(story: Story) -> None:
    staff(story)
    may = {who.subject: powers_of(seat(story, who).roles) for who in (ANA, OLU, MIA)}
    told = {
        name: [p for p in ("stop", "lift", "reset", "acknowledge") if getattr(powers, p)]
        for name, powers in may.items()
    }
    assert told == {
        "ana": [],
        "olu": ["stop", "acknowledge"],
        "mia": ["stop", "lift", "reset", "acknowledge"],
    }
    shown = looks(story, OLU).switches
    assert (shown.state, shown.stop, shown.alert) == (BreakerState.CLOSED, None, None)
    stop_all(story.desk, story.order(OLU))
    stopped = looks(story, ANA).switches.stop
    assert stopped is not None
    assert stopped.by == "Olu"


# --- whose queue


def test_the_queue_holds_what_a_persons_word_would_count_on_soonest_deadline_first(
    story: Story,
) -> None:
    staff(story)
    signal = flag(story)
    story.clock.advance(minutes=1)
    chair = parked(story)
    sofa = parked(story, "2340.00", "ORD-1004")
    story.clock.advance(minutes=1)
    desk = parked(story, "689.00", "ORD-1005")
    # The flag was first and has a day; a refund has half an hour.
    assert mine(story, MIA) == [chair.id, sofa.id, desk.id, signal.id]
    # An approver may be the first of the two whom the sofa takes, and decides no flag.
    assert mine(story, ANA) == [chair.id, sofa.id]
    # Who is on call holds no tier's role.
    assert mine(story, OLU) == []
    assert (looks(story, OLU).others, looks(story, ANA).others) == (4, 2)
    story.approves(ANA, sofa)
    assert mine(story, ANA) == [chair.id]
    assert mine(story, BEN) == [chair.id, sofa.id]


def test_nobodys_queue_holds_their_own_request_or_their_own_edit(story: Story) -> None:
    staff(story)
    kettle = parked(story, "129.00", "ORD-1008")
    link(story.desk, actor_of(story, BEN).id, Identity("customer", "cus_ben"), ANA)
    assert mine(story, BEN) == []
    assert mine(story, ANA) == [kettle.id]
    chair = parked(story, "100.00")
    raised = edited(story.edits(ANA, chair, usd(15000)))
    assert mine(story, ANA) == [kettle.id]
    assert mine(story, BEN) == [raised.id]


def test_what_somebody_has_taken_over_comes_first_for_them_alone(story: Story) -> None:
    staff(story)
    first = parked(story)
    story.clock.advance(minutes=1)
    second = parked(story, "129.00", "ORD-1008")
    takes(story, second, MIA)
    assert mine(story, MIA) == [second.id, first.id]
    assert mine(story, MAX) == [first.id, second.id]
    # On call may not decide it, and keeps in sight what they look into.
    takes(story, first, OLU)
    assert mine(story, OLU) == [first.id]
    story.clock.advance(minutes=29)
    # Its time is over, whether or not the sweep has been there.
    assert mine(story, OLU) == []
    assert mine(story, MAX) == [second.id]
    assert looks(story, MAX).others == 1


def test_a_damaged_row_hides_no_other(story: Story) -> None:
    staff(story)
    broken = parked(story)
    sound = parked(story, "129.00", "ORD-1008")
    story.damages("UPDATE approvals SET payload = '{' WHERE id = :id", id=broken.id)
    shown = looks(story, ANA)
    assert [waiting.approval.id for waiting in shown.mine.rows] == [sound.id]
    assert (shown.others, shown.unread) == (0, 1)


def test_a_long_queue_is_turned_page_by_page(story: Story) -> None:
    staff(story)
    rows = [parked(story, "160.00")] + [
        parked(story, amount, order)
        for amount, order in (
            ("129.00", "ORD-1008"),
            ("689.00", "ORD-1005"),
            ("80.00", "ORD-1006"),
        )
    ]
    pages = [looks(story, MIA, number, 3).mine for number in (-1, 0, 1, 7)]
    assert [[w.approval.id for w in page.rows] for page in pages] == [
        [row.id for row in rows[:3]],
        [row.id for row in rows[:3]],
        [rows[3].id],
        [rows[3].id],
    ]
    assert [(p.number, p.pages, p.first, p.beyond, p.total) for p in pages[1:3]] == [
        (0, 2, 0, 1, 4),
        (1, 2, 3, 0, 4),
    ]
    empty: Page[Waiting] = page_of((), 3, 3)
    assert (empty.rows, empty.number, empty.pages, empty.beyond) == ((), 0, 1, 0)


# --- what somebody has done today


def test_a_day_shows_each_act_once_newest_first_and_how_it_stands_now(story: Story) -> None:
    staff(story)
    chair = executed(story)
    story.clock.advance(minutes=5)
    lower = parked(story, "129.00", "ORD-1008")
    changed = edited(story.edits(MIA, lower, usd(10000)))
    story.rests()
    story.clock.advance(minutes=5)
    no = parked(story, "689.00", "ORD-1005")
    story.rejects(MIA, no)
    story.rests()
    shown = looks(story, MIA)
    assert [(deed.approval.id, deed.verdict) for deed in shown.deeds] == [
        (no.id, Verdict.REJECT),
        (changed.id, Verdict.APPROVE),
        (chair.id, Verdict.APPROVE),
    ]
    assert [deed.approval.status for deed in shown.deeds] == [
        Status.REJECTED,
        Status.EXECUTED,
        Status.EXECUTED,
    ]
    assert [deed.customer_name for deed in shown.deeds] == [
        "David Okafor",
        "Ben Ortiz",
        "Clara Nguyen",
    ]
    assert shown.done == 3
    assert looks(story, MAX).done == 0
    # An edit that waits for somebody else is an act of its own.
    pan = parked(story, "70.00", "ORD-1006")
    edited(story.edits(ANA, pan, usd(7500)))
    assert [(deed.approval.id, deed.verdict) for deed in looks(story, ANA).deeds] == [
        (pan.id, Verdict.EDIT)
    ]
    assert looks(story, ANA).done == 1


def test_a_day_begins_at_the_persons_own_midnight_and_counts_all_their_accounts(
    story: Story,
) -> None:
    staff(story)
    chair = parked(story)
    story.approves(MIA, chair)
    with story.desk.store.transaction() as tx:
        people.saw_clock(tx, actor_of(story, MIA).id, 11 * 3600)
    # 12:00 UTC is 23:00 where Mia is; an hour later her next day has begun.
    assert START.hour == 12
    story.clock.advance(minutes=59)
    assert looks(story, MIA).done == 1
    story.clock.advance(minutes=1)
    assert looks(story, MIA).done == 0
    assert looks(story, MIA).since == START + timedelta(hours=1)
    second = Identity("slack", "T1:U2")
    story.hire("second", Role.REFUND_MANAGER, identities=[second])
    story.approves(second, parked(story, "129.00", "ORD-1008"))
    links(story, MIA, second)
    assert looks(story, second).done == 1
    assert looks(story, MIA).seat.actor == looks(story, second).seat.actor


# --- a request by name


def test_a_request_is_found_by_its_id_its_end_or_its_order(story: Story) -> None:
    staff(story)
    chair = parked(story)
    story.rejects(ANA, chair)
    story.rests()
    again = parked(story, "150.00")
    other = parked(story, "129.00", "ORD-1008")

    def finds(typed: str, most: int = 10) -> list[str]:
        with story.desk.store.transaction(write=False) as tx:
            return list(find_requests(tx, typed, story.clock.now(), most))

    assert finds(f" {chair.id.lower()} ") == [chair.id]
    assert finds(f"…{other.id[-6:]}") == [other.id]
    assert finds(chair.id[-8:].lower()) == [chair.id]
    assert finds("ord-1001") == [again.id, chair.id]
    assert finds("ord-1001", 1) == [again.id]
    assert finds("#ORD-1008") == [other.id]
    # Too short, nonsense, what could be a pattern, or nobody's.
    nothing = ("", other.id[-5:], "%%%%%%", "apr_" + "0" * 26, "x" * 90)
    assert [finds(typed) for typed in nothing] == [[]] * 5
    story.clock.advance(days=7, seconds=1)
    assert finds(chair.id[-8:]) == []
    assert finds(chair.id) == [chair.id]
    # What is open is found however old it is.
    assert finds(other.id[-8:]) == [other.id]


# --- whether anything has changed


def test_the_pulse_differs_when_a_tab_may_and_not_when_time_goes_by(story: Story) -> None:
    staff(story)
    story.mirrored("rita", Role.REFUND_APPROVER)
    chair, sofa = parked(story), parked(story, "2340.00", "ORD-1004")

    def pulse() -> str:
        now = story.clock.now()
        with story.desk.store.transaction(write=False) as tx:
            return homes.pulse(tx, now, now - timedelta(hours=8), READ)

    def opens(page: int) -> None:
        with story.desk.store.transaction() as tx:
            homes.open_tab(tx, "T1:U1", page, story.clock.now())

    def goes_on(**time: float) -> None:
        story.clock.advance(**time)

    news: list[tuple[str, Callable[[], object]]] = [
        ("another waits", lambda: parked(story, "129.00", "ORD-1008")),
        ("a first vote", lambda: story.approves(ANA, sofa)),
        ("taken over", lambda: takes(story, sofa, MAX)),
        ("approved", lambda: story.approves(ANA, chair)),
        ("paid", story.rests),
        ("stopped", lambda: stop_all(story.desk, story.order(MIA))),
        ("a new colleague", lambda: story.hire("new", Role.ONCALL)),
        ("a tab is opened", lambda: opens(0)),
        ("a page is turned", lambda: opens(1)),
        ("a role is proven no more", lambda: goes_on(seconds=61)),
        ("a quarter of an hour has passed", lambda: goes_on(minutes=29)),
        ("nobody decided in time", lambda: sweep(story.desk)),
    ]
    seen = [pulse()]
    for what, happens in news:
        happens()
        assert pulse() not in seen, what
        seen.append(pulse())
    # What runs by itself, and a few seconds, are no news in anybody's tab.
    lift(story.desk, story.order(MIA))
    story.rests()
    seen.append(pulse())
    story.asks_refund(story.opens_chat("cus_sofia"), "20.00", "ORD-1017")
    story.clock.advance(seconds=30)
    assert story.paid()[-1] == ("ORD-1017", usd(2000))
    assert pulse() == seen[-1]


# --- the tabs that are open


def test_a_tab_is_published_once_for_what_it_shows_whoever_noticed(story: Story) -> None:
    staff(story)
    fresh = story.mirrored("rita", Role.REFUND_APPROVER)
    stranger = Identity("slack", "T1:U_nobody")
    for who in (fresh, stranger, fresh):
        open_home(story.desk, who)
    # Twice the same tab is one message.
    assert story.delivers() == 2
    kinds = [delivery.kind for delivery in story.notifier.deliveries]
    assert kinds == [DeliveryKind.HOME] * 2

    def keeps(subject: str, drawn: str) -> int:
        with story.desk.store.transaction() as tx:
            keep_home(tx, story.desk, subject, drawn, story.clock.now())
        return story.delivers()

    assert keeps(fresh.subject, "new") == 1
    with story.desk.store.transaction() as tx:
        homes.note_shown(tx, fresh.subject, "new")
    # Another replica was first, and nobody keeps a stranger's tab.
    assert [keeps(fresh.subject, "new"), keeps(stranger.subject, "new")] == [0, 0]
    assert keeps(fresh.subject, "newer") == 1
    story.clock.advance(hours=8, seconds=1)
    open_home(story.desk, stranger)
    with story.desk.store.transaction(write=False) as tx:
        assert homes.get(tx, fresh.subject) is None
