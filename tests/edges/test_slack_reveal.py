"""What a card masks of a customer, and who sees it after a click that the trail keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.domain.approvals import Status
from agent.steps.verify import verify
from storage.transaction import Store
from tests.support.slack_looks import shown, title
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

PHONE, ADDRESS = "0171 1234567", "clara.private@example.com"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def test_what_is_masked_is_shown_to_those_who_may_decide_and_the_trail_keeps_it(
    story: SlackStory,
) -> None:
    chat = story.opens_chat("cus_clara")
    story.model.says("Of course.")
    story.says(chat, f"Call me on {PHONE} or write to {ADDRESS}")
    story.asks_refund(chat, "160.00")
    waiting = story.only(Status.PENDING)
    card = story.card(waiting)
    for secret in (PHONE, ADDRESS, "Nguyen", "clara.nguyen@"):
        assert secret not in shown(card)
    assert "Clara N." in shown(card)
    assert "c•••@example.com" in shown(card)

    # Neither a guest nor somebody without the role; the people on call may break the glass.
    for user in ("gus", "sam"):
        story.clicks(user, waiting, "approval_reveal")
        assert story.forms(user) == 0
        assert len(story.whispers(user)) == 1
    assert story.trail().count("decision.refused") == 2
    assert "card.revealed" not in story.trail()

    story.clicks("ana", waiting, "approval_reveal")
    assert title(story.form("ana")) == "Not masked"
    for secret in (PHONE, ADDRESS, "Clara Nguyen"):
        assert secret in shown(story.form("ana"))
    story.clicks("olu", waiting, "approval_reveal")
    assert PHONE in shown(story.form("olu"))
    assert story.trail().count("card.revealed") == 2
    assert list(verify(story.desk).problems) == []

    # From within Details, and when it is over.
    story.model.says("It is paid.")
    story.clicks("ana", waiting, "approval_approve")
    assert "approval_reveal" not in shown(story.card(waiting))
