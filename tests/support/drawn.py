"""What a person reads and can click on blocks that were drawn, whatever carries it."""

import json
from collections.abc import Iterator
from typing import Any

from agent.domain.approvals import Approval, ApprovalView, Vote
from bot.slack.blocks import Block
from bot.slack.details import Leaf, details_view, request_entry
from bot.slack.paging import Reel
from bot.slack.targets import PageTarget
from tests.support.builders import ADDRESS, ANN, BOB, approval

PEOPLE = {ANN: "U07ANN", BOB: "U07BOB"}

HOSTILE = [
    "<!channel> <!here> <@U123> <#C1> <!subteam^S1>",
    "<https://evil.example|Approve here>",
    "*bold* _it_ ~strike~ `code` ```block``` :tada:",
    "&amp; &lt;b&gt; <b>hi</b>",
    "line one\n*Left to refund*\n1.00 USD",
    "\u202egpj.exe \u2066 \u200b\u200d\ufeff \ue000 \x00 \x1b[2J \u2028 \u00ad \u3164",
    "https://evil.example/?a=1&b=2",
]
UNSEEN = "\u202e\u2066\u200b\u200d\ufeff\ue000\x00\x1b\u2028\u00ad\u3164"


def view_of(
    shown: Approval,
    *votes: Vote,
    name: str = "Dana",
    words: tuple[str, ...] = ("It wobbles.",),
    stopped: bool = False,
) -> ApprovalView:
    """Return an approval with what stands around it on a card."""
    return ApprovalView(shown, votes, name, ADDRESS, words, stopped)


def refund_view(
    *votes: Vote, words: tuple[str, ...] = ("It wobbles.",), **changes: Any
) -> ApprovalView:
    """Return the view of a refund; changes are those of `approval`."""
    return view_of(approval(**changes), *votes, words=words)


def request_pages(
    shown: ApprovalView, *, waiting: bool = True, may_break_glass: bool = False
) -> list[Block]:
    """Return every page of a request's details that shows the request itself, in order."""
    now = shown.approval.created_at
    reel = Reel([request_entry(shown, PEOPLE, now, waiting=waiting)], 1, 1)
    pages: list[Block] = []
    piece: int | None = 0
    while piece is not None:
        page = PageTarget.at(shown.approval, piece=piece)
        leaf = Leaf(shown, PEOPLE, now, waiting, page, reel, ("request", "conversation", "history"))
        pages.append(details_view(leaf, "C1", may_break_glass=may_break_glass))
        after = buttons(pages[-1]["blocks"]).get("details_next")
        piece = None if after is None else json.loads(after["value"])["piece"]
    return pages


def objects(value: object) -> Iterator[Block]:
    """Yield every object of a tree."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from objects(item)


def texts(value: object, *kinds: str) -> list[str]:
    """Return the text of every object of these types."""
    return [o["text"] for o in objects(value) if o.get("type") in kinds]


def read(blocks: object) -> str:
    """Return all that a person reads, one text a line."""
    return "\n".join(texts(blocks, "plain_text", "mrkdwn", "text", "raw_text"))


def flowing(blocks: object) -> str:
    """Return all literal text without a break between its pieces."""
    return "".join(texts(blocks, "text"))


def styled(blocks: object, style: str) -> list[str]:
    """Return the literal texts of one style, e.g. `strike`."""
    return [
        o["text"]
        for o in objects(blocks)
        if o.get("type") == "text" and o.get("style", {}).get(style)
    ]


def mentioned(blocks: object) -> list[str]:
    """Return the Slack users that are mentioned."""
    return [o["user_id"] for o in objects(blocks) if o.get("type") == "user"]


def buttons(blocks: object) -> dict[str, Block]:
    """Return the buttons by their action."""
    return {o["action_id"]: o for o in objects(blocks) if o.get("type") == "button"}


def carrier(blocks: object, words: str) -> set[str]:
    """Return the types of the objects that hold `words`."""
    return {
        str(o["type"])
        for o in objects(blocks)
        if isinstance(o.get("text"), str) and words in o["text"]
    }


def assert_literal(blocks: object, mark: str) -> None:
    """Hold that what carries `mark` is shown letter by letter, with nothing unseen anywhere."""
    found = carrier(blocks, mark)
    assert found
    assert found <= {"plain_text", "text", "raw_text"}
    assert not any(char in read(blocks) for char in UNSEEN)
    assert all(o["emoji"] is False for o in objects(blocks) if o.get("type") == "plain_text")
