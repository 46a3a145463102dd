"""Pace, order and trouble of each place in Slack, over all replicas; no old picture over a new."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.payload import Payload
from agent.domain.places import Pace
from agent.ports import (
    ChannelClosed,
    Declined,
    Delivered,
    DeliveryKind,
    Limited,
    Mail,
    MailAccepted,
    MailAnswer,
    Mailer,
    MessageRef,
    NoAnswer,
    NoClearAnswer,
    NotAuthorized,
    NotStarted,
    TryAgain,
    Undeliverable,
    Unreachable,
    Well,
)
from agent.providers.sink_mail import NoMailer
from agent.steps.alerts import raise_alert
from agent.steps.announce import announce, next_announcement
from agent.steps.mail import send_mail
from agent.steps.trouble import report_gone
from storage import cards, deliveries, outbox, places
from tests.story.test_races import at_once, other
from tests.story.ways import ANA, about, parked, staff
from tests.support.desk import Story

__all__ = ["other"]
CARD, UPDATE, THREAD = DeliveryKind.CARD, DeliveryKind.CARD_UPDATE, DeliveryKind.THREAD
ALERT = DeliveryKind.ALERT
REFUSED = TryAgain("brand_new_error", ambiguous=False)
SILENT = NoAnswer("HTTP 503", ambiguous=True)
PAGER = "pager@shop.example"


def quietly(story: Story, *amounts: str) -> list[Approval]:
    """Let refunds wait whose cards have not left yet."""
    later = story.clock.now() + timedelta(days=1)
    with story.desk.store.transaction() as tx:
        places.occupy(tx, ("approvals",), later)
    rows = [parked(story, amount, "ORD-1004") for amount in amounts]
    story.happens("UPDATE slack_places SET free_at = 0 WHERE place = 'approvals'")
    return rows


def posted(story: Story) -> list[str]:
    """Return the requests whose cards were sent, in order, each try of its own."""
    return [d.approval.approval.id for d in story.notifier.of(CARD) if d.approval is not None]


def trouble(story: Story) -> dict[str, str | None]:
    """Return what stands against each place."""
    with story.desk.store.transaction(write=False) as tx:
        return {name: one.problem for name, one in places.troubled(tx).items() if one.problem}


def paged(story: Story) -> Story:
    """Return the story with people on call who can be reached by mail."""
    return replace(story, desk=replace(story.desk, oncall_mail=(PAGER,)))


def pages(story: Story) -> list[str]:
    """Send the pages that are due, and return the subjects of all so far."""
    while send_mail(story.desk):
        pass
    return [mail.envelope.subject for mail in story.mails()]


# --- pace and order


def test_two_desks_keep_one_pace_and_one_order(story: Story, other: Story) -> None:
    staff(story)
    rows = quietly(story, "60.00", "61.00", "62.00", "63.00")
    pace = Pace()
    for second in range(4):
        due = next_announcement(story.desk)
        assert due is not None
        assert due <= story.clock.now()
        acts: list[Callable[[], object]] = [
            lambda desk=desk: announce(desk, story.notifier, pace)  # type: ignore[misc]
            for desk in (story.desk, other.desk)
            for _ in "abc"
        ]
        at_once(*acts)
        assert posted(story) == [row.id for row in rows[: second + 1]]
        story.clock.advance(seconds=0.999)
        assert not announce(other.desk, story.notifier, pace)
        story.clock.advance(seconds=0.001)
    assert next_announcement(story.desk) is None


def test_updates_have_a_pace_of_their_own(story: Story) -> None:
    staff(story)
    story.pace = Pace()
    (row,) = quietly(story, "60.00")
    story.delivers()
    story.approves(ANA, row)
    story.rests()
    # The update left at once; the line below the card has to wait for the channel.
    assert [d.kind for d in about(story, row)] == [CARD, UPDATE]
    story.clock.advance(seconds=1)
    story.rests()
    assert [d.kind for d in about(story, row)][:3] == [CARD, UPDATE, THREAD]


def test_nothing_about_a_card_leaves_before_it_or_beside_it(story: Story, other: Story) -> None:
    staff(story)
    (row,) = quietly(story, "60.00")
    now = story.clock.now()
    with other.desk.store.transaction() as tx:
        card = deliveries.take_for_slack(tx, "srv-other", now, timedelta(minutes=1))
    assert card is not None
    story.approves(ANA, row)
    story.rests()
    assert about(story, row) == []
    assert next_announcement(story.desk) is None
    with other.desk.store.transaction() as tx:
        assert deliveries.again(tx, card, now, "brand_new_error", ambiguous=False)
    story.delivers()
    # Drawn as it is now; what only told those who had seen it before is told nobody.
    assert [d.kind for d in about(story, row)] == [CARD]


def test_several_changes_are_one_picture(story: Story) -> None:
    staff(story)
    row = parked(story, "60.00", "ORD-1004")
    with story.desk.store.transaction() as tx:
        places.occupy(tx, ("update",), story.clock.now() + timedelta(seconds=5))
    story.approves(ANA, row)
    story.rests()
    assert story.approval(row.id).status is Status.EXECUTED
    story.clock.advance(seconds=5)
    story.rests()
    (drawn,) = story.notifier.of(UPDATE)
    assert drawn.approval is not None
    assert drawn.approval.approval.status is Status.EXECUTED


def test_a_change_while_the_card_is_drawn_is_drawn_after_it(story: Story, other: Story) -> None:
    staff(story)
    row = parked(story, "60.00", "ORD-1004")
    with story.desk.store.transaction() as tx:
        key = f"card_update:{row.id}:extra"
        again = replace(_update(story, row), key=key)
        outbox.add(tx, story.clock.now(), again)

    def meanwhile() -> None:
        """Approve at another desk, and ask once more for the update that is being drawn."""
        other.approves(ANA, row)
        with other.desk.store.transaction() as tx:
            outbox.add(tx, other.clock.now(), replace(_update(other, row), key=key))
        assert not announce(other.desk, other.notifier, other.pace)

    story.notifier.meanwhile.append(meanwhile)
    story.delivers()
    drawn = [d.approval.approval.status for d in story.notifier.of(UPDATE) if d.approval]
    assert drawn == [Status.PENDING, Status.APPROVED]


def _update(story: Story, row: Approval) -> outbox.Message:
    return outbox.Message(
        id=story.desk.ids.new("out"),
        lane="slack",
        kind=UPDATE.value,
        key="",
        body={},
        approval_id=row.id,
        run_id=row.run_id,
        place="update",
        about=f"card:{row.id}",
    )


def test_whoever_lost_the_lease_while_drawing_draws_once_more(story: Story, other: Story) -> None:
    staff(story)
    row = parked(story, "60.00", "ORD-1004")
    with story.desk.store.transaction() as tx:
        late = replace(_update(story, row), key=f"card_update:{row.id}:late")
        outbox.add(tx, story.clock.now(), late)

    def meanwhile() -> None:
        """Let the call take so long that another desk takes the message and draws its end."""
        other.approves(ANA, row)
        other.clock.advance(seconds=61)
        assert announce(other.desk, other.notifier, other.pace)

    story.notifier.meanwhile.append(meanwhile)
    assert announce(story.desk, story.notifier, story.pace)
    # The old picture came last, so the newest is drawn over it.
    story.delivers()
    drawn = [d.approval.approval.status for d in story.notifier.of(UPDATE) if d.approval]
    assert drawn[0] is Status.PENDING
    assert len(drawn) == 3
    assert drawn[-1] is not Status.PENDING
    with story.desk.store.transaction(write=False) as tx:
        assert deliveries.next_for_slack(tx, story.clock.now()) is None


def test_two_copies_of_a_card_whose_lease_was_lost_are_both_kept(
    story: Story, other: Story
) -> None:
    staff(story)
    (row,) = quietly(story, "60.00")

    def meanwhile() -> None:
        other.clock.advance(seconds=61)
        assert announce(other.desk, other.notifier, other.pace)

    story.notifier.meanwhile.append(meanwhile)
    assert announce(story.desk, story.notifier, story.pace)
    with story.desk.store.transaction(write=False) as tx:
        assert len(cards.of(tx, row.id)) == 2


# --- one message that fails, and many


def test_a_message_that_fails_alone_steps_out_of_the_line(story: Story) -> None:
    staff(story)
    bad, good = quietly(story, "60.00", "61.00")
    for waits in (1, 2, 4):
        story.notifier.answers.append(REFUSED)
        assert story.delivers() == 1
        assert next_announcement(story.desk) == story.clock.now() + timedelta(seconds=waits)
        assert trouble(story) == {"approvals": "brand_new_error"}
        story.clock.advance(seconds=waits)
    assert posted(story) == [bad.id] * 3
    story.notifier.answers.append(REFUSED)
    story.delivers()
    assert posted(story)[3:] == [bad.id, good.id]
    assert trouble(story) == {}
    story.clock.advance(seconds=8)
    story.delivers()
    assert posted(story)[5:] == [bad.id]


def test_where_nothing_gets_through_the_place_rests_and_then_goes_on_in_order(
    story: Story,
) -> None:
    staff(story)
    rows = quietly(story, "60.00", "61.00", "62.00")
    story.notifier.answers.extend([REFUSED] * 12)
    while story.notifier.answers:
        story.delivers()
        due = next_announcement(story.desk)
        assert due is not None
        assert due - story.clock.now() <= timedelta(minutes=1)
        story.clock.at = max(due, story.clock.now())
    # Each steps aside in the end, for the next may be the one that gets through.
    assert [posted(story).index(row.id) for row in rows[:2]] == [0, 4]
    assert rows[2].id in posted(story)[7:12]
    story.clock.advance(minutes=2)
    story.delivers()
    assert sorted(posted(story)[12:]) == [row.id for row in rows]


def test_what_is_refused_for_good_after_its_lease_was_lost_is_the_others(
    story: Story, other: Story
) -> None:
    staff(story)
    (row,) = quietly(story, "60.00")

    def meanwhile() -> None:
        other.clock.advance(seconds=61)
        assert announce(
            other.desk, replace(other.notifier, meanwhile=deque(), answers=deque()), other.pace
        )

    story.notifier.meanwhile.append(meanwhile)
    story.notifier.answers.append(Undeliverable("invalid_blocks"))
    assert announce(story.desk, story.notifier, story.pace)
    assert "delivery.failed" not in story.trail()
    with story.desk.store.transaction(write=False) as tx:
        assert len(cards.of(tx, row.id)) == 1


def test_a_note_that_two_desks_posted_is_there_twice_and_nothing_is_drawn(
    story: Story, other: Story
) -> None:
    note = outbox.Message("out_1", "slack", "daily_digest", "daily_digest:1", {}, place="approvals")
    with story.desk.store.transaction() as tx:
        outbox.add(tx, story.clock.now(), note)

    def meanwhile() -> None:
        other.clock.advance(seconds=61)
        assert announce(other.desk, other.notifier, other.pace)

    story.notifier.meanwhile.append(meanwhile)
    assert announce(story.desk, story.notifier, story.pace)
    assert not announce(story.desk, story.notifier, story.pace)
    assert len(story.notifier.of(DeliveryKind.DAILY_DIGEST)) == 2


def test_a_channel_that_is_not_the_desks_closes_nothing(story: Story) -> None:
    staff(story)
    (row,) = quietly(story, "60.00")
    story.notifier.answers.append(ChannelClosed("is_archived", "C404"))
    story.delivers()
    assert trouble(story) == {"approvals": "is_archived"}
    assert story.open_alerts() == ()
    story.clock.advance(seconds=1)
    story.delivers()
    assert posted(story) == [row.id, row.id]
    assert trouble(story) == {}


# --- Slack as a whole


def test_a_slack_that_does_not_answer_is_looked_at_until_it_does(story: Story) -> None:
    staff(story)
    story = paged(story)
    first, second = quietly(story, "60.00", "61.00")
    began, story.notifier.state = story.clock.now(), Unreachable("HTTP 503")
    story.notifier.answers.append(SILENT)
    gaps: list[float] = []
    while (due := next_announcement(story.desk)) is not None and len(gaps) < 12:
        gaps.append((due - story.clock.now()).total_seconds())
        story.clock.at = max(due, story.clock.now())
        assert story.delivers() == 1
    assert gaps == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
    # A page came once it had lasted five minutes, one for all that time.
    assert pages(story) == ["Supportdesk: Slack is the trouble"]
    assert story.clock.now() - began > timedelta(minutes=5)
    assert posted(story) == [first.id]
    assert trouble(story) == {"*": "HTTP 503"}
    story.notifier.state = Well()
    story.clock.advance(seconds=60)
    story.delivers()
    assert posted(story) == [first.id, first.id, second.id]
    tries = story.notifier.of(CARD)
    assert [d.ambiguous for d in tries] == [False, True, False]
    assert trouble(story) == {}
    assert pages(story)[1:] == ["Supportdesk: Slack works again"]
    told = story.notifier.alerts(AlertKind.SLACK_TROUBLE)
    assert [alert.is_open for alert in told] == [False]


def test_a_blip_is_nobodys_business(story: Story) -> None:
    staff(story)
    story = paged(story)
    (row,) = quietly(story, "60.00")
    story.notifier.state = Unreachable("URLError: connection refused")
    story.notifier.answers.append(NoAnswer("URLError: connection refused", ambiguous=False))
    story.delivers()
    story.notifier.state = Well()
    story.clock.advance(seconds=2)
    story.delivers()
    assert posted(story) == [row.id, row.id]
    assert (pages(story), story.open_alerts(), trouble(story)) == ([], (), {})


def test_a_server_error_of_a_slack_that_is_well_is_the_messages_own(story: Story) -> None:
    staff(story)
    (row,) = quietly(story, "60.00")
    story.notifier.answers.append(SILENT)
    story.delivers()
    assert trouble(story) == {"approvals": "HTTP 503"}
    story.clock.advance(seconds=1)
    story.delivers()
    assert [d.ambiguous for d in story.notifier.of(CARD)] == [False, True]
    assert posted(story) == [row.id, row.id]


def test_slack_that_puts_the_desk_out_is_reported_at_once(story: Story) -> None:
    staff(story)
    story = paged(story)
    story.notifier.state = NotAuthorized("account_inactive")
    report_gone(story.desk, "app_uninstalled")
    (row,) = quietly(story, "60.00")
    assert story.notifier.deliveries == []
    assert pages(story) == ["Supportdesk: Slack is the trouble"]
    story.clock.advance(minutes=1)
    assert story.delivers() == 1
    report_gone(story.desk, "tokens_revoked")
    assert pages(story) == ["Supportdesk: Slack is the trouble"]
    story.notifier.state = Well()
    story.clock.advance(minutes=1)
    story.delivers()
    assert posted(story) == [row.id]
    assert pages(story)[1:] == ["Supportdesk: Slack works again"]


def test_where_nothing_waits_a_look_that_goes_well_is_enough(story: Story) -> None:
    staff(story)
    report_gone(story.desk, "tokens_revoked")
    story.happens("DELETE FROM outbox WHERE lane = 'slack'")
    assert trouble(story) == {"*": "tokens_revoked"}
    story.clock.advance(minutes=1)
    story.delivers()
    assert trouble(story) == {}


def test_one_worker_looks_and_the_others_leave_it_alone(story: Story, other: Story) -> None:
    staff(story)
    report_gone(story.desk, "tokens_revoked")
    story.clock.advance(minutes=1)
    story.notifier.state = NotAuthorized("token_revoked")
    acts: list[Callable[[], object]] = [
        lambda desk=desk: announce(desk, story.notifier, story.pace)  # type: ignore[misc]
        for desk in (story.desk, other.desk)
        for _ in "ab"
    ]
    at_once(*acts)
    assert story.notifier.looks == 1


def test_a_try_that_was_limited_shows_that_slack_is_back(story: Story) -> None:
    staff(story)
    (row,) = quietly(story, "60.00")
    report_gone(story.desk, "tokens_revoked")
    story.clock.advance(minutes=1)
    story.notifier.answers.append(Limited("ratelimited", None, ambiguous=False))
    story.delivers()
    assert trouble(story) == {}
    story.clock.advance(seconds=1)
    story.delivers()
    assert posted(story) == [row.id, row.id]


# --- a channel


def test_a_channel_that_closed_has_one_alert_and_opens_by_itself(story: Story) -> None:
    staff(story)
    seen = parked(story, "60.00", "ORD-1004")
    story.notifier.shut["C1"] = "is_archived"
    late = parked(story, "61.00", "ORD-1004")
    sent = [(d.channel, d.approval.approval.id) for d in story.notifier.of(CARD) if d.approval]
    assert sent == [("C1", seen.id), ("C1", late.id), ("C2", late.id), ("C2", seen.id)]
    (alert,) = story.notifier.alerts(AlertKind.SLACK_TROUBLE)
    assert alert.is_open
    story.approves(ANA, seen)
    for _ in range(3):
        story.clock.advance(minutes=1)
        story.rests()
    assert len(story.notifier.alerts(AlertKind.SLACK_TROUBLE)) == 1
    assert trouble(story) == {"approvals": "is_archived"}
    del story.notifier.shut["C1"]
    before = len(about(story, seen))
    story.clock.advance(minutes=1)
    story.rests()
    assert (trouble(story), story.open_alerts()) == ({}, ())
    # Its card in the channel was not drawn while that was closed.
    assert UPDATE in [d.kind for d in about(story, seen)[before:]]


def test_what_can_be_seen_elsewhere_is_not_posted_again_for_a_channel_that_closed(
    story: Story,
) -> None:
    staff(story)
    copies = (MessageRef("C1", "1795953600.000001"), MessageRef("C2", "1795953600.000001"))
    story.notifier.answers.append(Delivered(copies))
    row = parked(story, "60.00", "ORD-1004")
    with story.desk.store.transaction() as tx:
        outbox.add(tx, story.clock.now(), replace(_update(story, row), key="card_update:x"))
    story.notifier.answers.append(Delivered(closed=(("C1", "is_archived"),)))
    story.rests()
    assert trouble(story) == {"approvals": "is_archived"}
    assert posted(story) == [row.id]
    with story.desk.store.transaction(write=False) as tx:
        assert cards.of(tx, row.id) == copies


def test_alerts_in_a_channel_that_closed_are_told_elsewhere(story: Story) -> None:
    for subject in ("s:1", "s:2"):
        with story.desk.store.transaction() as tx:
            body: Payload = {"text": "The clock stepped back."}
            now = story.clock.now()
            raise_alert(tx, story.desk, now, subject, AlertKind.CLOCK_STEP, body)
        story.rests()
        story.notifier.shut["C2"] = "not_in_channel"
    told = [(d.channel, d.body["subject"]) for d in story.notifier.of(ALERT)]
    assert told == [
        ("C2", "s:1"),
        ("C2", "s:2"),
        ("C1", "s:2"),
        ("C1", "slack:C2"),
        ("C1", "s:1"),
    ]


# --- by mail


class Moody(Mailer):
    """A mail server that gives the answers it was told to."""

    def __init__(self, *answers: MailAnswer) -> None:
        """Keep the answers."""
        self.answers = list(answers)
        self.sent: list[Mail] = []

    @override
    def send(self, mail: Mail) -> MailAnswer:
        """Answer as told."""
        self.sent.append(mail)
        return self.answers.pop(0)

    @override
    def find(self, message_id: str) -> None:
        """Know nothing."""


def test_a_page_that_does_not_leave_is_sent_again_and_one_refused_is_kept(story: Story) -> None:
    accepted = MailAccepted("x@supportdesk", "250 ok")
    mailer = Moody(
        NotStarted("no connection"),
        NoClearAnswer("link lost"),
        accepted,
        Declined("550", "no such user"),
    )
    story = replace(story, desk=replace(story.desk, mailer=mailer, oncall_mail=(PAGER,)))
    report_gone(story.desk, "app_uninstalled \u202e\n<http://x>")
    for wait in (0, 5, 10):
        story.clock.advance(seconds=wait)
        assert send_mail(story.desk)
        assert not send_mail(story.desk)
    assert len({mail.message_id for mail in mailer.sent}) == 1
    assert all(mail.to == (PAGER,) and "\u202e" not in mail.body for mail in mailer.sent)
    story.clock.advance(minutes=1)
    story.delivers()
    assert send_mail(story.desk)
    assert not send_mail(story.desk)
    with story.desk.store.transaction(write=False) as tx:
        assert deliveries.stuck_for(tx) == ({"kind": "page", "problem": "550: no such user"},)
        assert deliveries.next_of(tx, "mail") is None
    assert "delivery.failed" in story.trail()


def test_without_a_way_for_mail_nobody_is_paged(story: Story) -> None:
    for desk in (replace(story.desk, oncall_mail=(PAGER,), mailer=NoMailer()), story.desk):
        report_gone(desk, "app_uninstalled")
        assert not send_mail(desk)
    assert [alert.kind for alert in story.open_alerts()] == [AlertKind.SLACK_TROUBLE]


# --- what nobody could see


def test_what_lapses_unseen_is_told_apart(story: Story) -> None:
    staff(story)
    seen = parked(story, "60.00", "ORD-1004")
    (unseen,) = quietly(story, "61.00")
    story.clock.advance(minutes=31)
    story.sweeps()
    assert story.approval(seen.id).result is None
    assert story.approval(unseen.id).result == {"unseen": True}
    lapsed = [f for f in story.facts() if f["type"] == "approval.expired"]
    marks = {f["approval_id"]: f["data"].get("unseen") for f in lapsed}
    assert marks == {seen.id: None, unseen.id: True}
    # Its card came when it had ended: that does not make it seen.
    assert story.approval(unseen.id).shown_at is None
    assert posted(story)[-1] == unseen.id
