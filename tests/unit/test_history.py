"""The trail in words: every fact there can be about a request has some, a strange one its tag."""

from dataclasses import replace

from agent.domain.audit import AuditType
from bot.slack.history import Happening, history_entry
from tests.support.doubles import START
from tests.support.drawn import flowing

# These are about a run, a customer or the desk, and never name a request.
BESIDE = {
    "message",
    "run",
    "model",
    "tool",
    "draft",
    "conversation",
    "stop",
    "breaker",
    "click",
    "actor",
    "shop",
    "policy",
    "digest",
    "staff",
    "agent",
}
SEEN = Happening(START, "", "Ana", "slack", "apr_1", {})


def words(tag: str) -> str:
    return flowing(history_entry(replace(SEEN, type=tag)))


def test_whatever_can_happen_to_a_request_is_told_in_words() -> None:
    about = [tag for tag in AuditType if tag.partition(".")[0] not in BESIDE]
    about.remove(AuditType.PROPOSAL_REFUSED)
    about.remove(AuditType.AUTOMATIC_RESUMED)
    assert [tag for tag in about if tag in words(tag)] == []
    assert words("never.heard_of").startswith("never.heard_of · Ana · in Slack · ")


def test_a_vote_says_what_it_was_and_a_refusal_what_was_tried() -> None:
    vote = replace(SEEN, type="vote.cast", data={"verdict": "reject"})
    assert flowing(history_entry(vote)).startswith("Voted to reject · Ana")
    glass = replace(vote, data={"verdict": "approve", "break_glass": True})
    assert "Broke the glass" in flowing(history_entry(glass))
    refused = replace(SEEN, type="decision.refused", data={"verdict": "edit", "code": "expired"})
    assert "Tried to edit, in vain · Ana" in flowing(history_entry(refused))
    assert "code: expired" in flowing(history_entry(refused))


def test_a_long_line_is_parted_and_not_cut() -> None:
    data = {"message": "m" * 4_000, "problem": "p" * 2_000, "reason": "r" * 7_000}
    blocks = history_entry(replace(SEEN, type="execution.ended", data={**data}))
    told = flowing(blocks)
    for letter, length in (("m", 4_000), ("p", 2_000), ("r", 7_000)):
        assert told.count(letter * 100) == length // 100
    assert len(blocks) > 4
