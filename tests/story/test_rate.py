"""What the help was worth: kept once, and nothing that is no rating."""

import pytest

from agent.domain.conversation import MAX_RATING_COMMENT
from agent.domain.errors import InvalidInput
from agent.domain.ids import ConversationId
from agent.steps.rate import rate
from tests.support.desk import Story


@pytest.mark.parametrize(
    ("score", "comment", "field"),
    [(0, "", "score"), (6, "", "score"), (5, "x" * (MAX_RATING_COMMENT + 1), "comment")],
)
def test_what_is_no_rating_is_refused(story: Story, score: int, comment: str, field: str) -> None:
    chat = story.opens_chat()
    with pytest.raises(InvalidInput, match=field):
        rate(story.desk, chat, score, comment)
    assert story.log(chat) == ()


def test_a_rating_said_twice_is_one_and_a_better_one_counts(story: Story) -> None:
    chat = story.opens_chat()
    for score, comment in ((4, "slow"), (4, "slow"), (5, "")):
        rate(story.desk, chat, score, comment)
    assert [event.data for event in story.log(chat)] == [
        {"score": 4, "comment": "slow"},
        {"score": 5, "comment": ""},
    ]
    assert story.trail().count("conversation.rated") == 2
    with pytest.raises(LookupError):
        rate(story.desk, ConversationId("cnv_none"), 5)
