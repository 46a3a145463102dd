"""One order that cannot be asked about, or a row that is damaged, holds up no other."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.ports import ShopOrder
from agent.providers.embedded_shop import EmbeddedShop
from agent.steps.execute import execute_due
from agent.steps.revoke import revoke
from tests.story.ways import MIA, approved, parked, staff, usd
from tests.support.desk import Story


class ShopDown(Exception):
    """The shop's own system does not answer."""


class HalfShop(EmbeddedShop):
    """A shop that cannot tell of one order."""

    happens: Callable[[], object] | None = None
    asked = 0

    @override
    def order(self, reference: str) -> ShopOrder | None:
        if reference != "ORD-1001":
            return super().order(reference)
        self.asked += 1
        if self.happens is not None:
            self.happens()
        raise ShopDown


@pytest.fixture
def half(story: Story) -> tuple[Story, HalfShop]:
    """Return the story with a shop that cannot tell of ORD-1001."""
    shop = HalfShop(story.desk.store)
    return replace(story, desk=replace(story.desk, shop=shop)), shop


def two(story: Story) -> tuple[Approval, Approval]:
    """Let two refunds be approved, the first before the second."""
    staff(story)
    waiting = parked(story), parked(story, "60.00", "ORD-1013")
    for row in waiting:
        story.approves(MIA, row)
        story.clock.advance(seconds=1)
    story.tells()
    first, second = (story.approval(row.id) for row in waiting)
    return first, second


def test_an_order_nobody_can_tell_of_is_put_off_and_holds_up_no_other(
    story: Story, half: tuple[Story, HalfShop]
) -> None:
    first, second = two(story)
    broken, shop = half
    with pytest.raises(ShopDown):
        execute_due(broken.desk)
    assert execute_due(broken.desk) is True
    assert story.approval(second.id).status is Status.EXECUTED
    assert (execute_due(broken.desk), shop.asked) == (False, 1)
    put_off = story.approval(first.id)
    assert (put_off.status, put_off.attempts) == (Status.APPROVED, 0)
    story.clock.advance(seconds=30, microseconds=-1)
    assert (execute_due(story.desk), story.approval(first.id)) == (False, put_off)
    story.clock.advance(microseconds=1)
    assert execute_due(story.desk) is True
    story.rests()
    assert story.paid() == [("ORD-1013", usd(6000)), ("ORD-1001", usd(16000))]


def test_what_was_called_off_meanwhile_is_left_alone(
    story: Story, half: tuple[Story, HalfShop]
) -> None:
    staff(story)
    row = approved(story)
    broken, shop = half
    shop.happens = lambda: revoke(story.desk, row.id, story.order(MIA))
    with pytest.raises(ShopDown):
        execute_due(broken.desk)
    after = story.approval(row.id)
    assert (after.status, after.wake_at) == (Status.CANCELLED, None)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE approvals SET payload = '[' WHERE id = :a",
        "UPDATE approvals SET payload_hash = 'no hash' WHERE id = :a",
        "UPDATE approvals SET tool = 'drop_tables' WHERE id = :a",
    ],
    ids=["unreadable", "other hash", "no such tool"],
)
def test_a_damaged_row_at_the_head_counts_as_work_done(story: Story, damage: str) -> None:
    first, second = two(story)
    story.damages(damage, a=first.id)
    assert execute_due(story.desk) is True
    assert story.approval(second.id).status is Status.APPROVED
    assert execute_due(story.desk) is True
    assert story.approval(second.id).status is Status.EXECUTED
    assert execute_due(story.desk) is False
    story.delivers()
    (alert,) = story.notifier.alerts(AlertKind.CORRUPT_ROW)
    assert "does not validate and will not run" in str(alert.body["text"])
    assert story.paid() == [("ORD-1013", usd(6000))]
