"""Text that means harm, put into every field of a request that reaches Slack, and found again."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.domain.asks import Ask, AskedOf
from agent.domain.fraud import FlagAction
from agent.domain.payload import Payload
from agent.domain.risk import Finding, Reason
from bot.slack.blocks import Block
from tests.support.builders import (
    ANN,
    BOB,
    CUSTOMER,
    approval,
    email_approval,
    flag_approval,
    refund_payload,
    usd,
    vote,
)
from tests.support.doubles import START
from tests.support.drawn import UNSEEN, objects

SHORT = {
    "control tokens": "<!channel> <!here> <!everyone> <@U07ANA> <#C07> <!subteam^S1> <!date^1^x|y>",
    "fake links": "<https://evil.example|Approve here> https://evil.example/?a=1&b=2 <mailto:a@b>",
    "backticks": "` `code` ```block``` ``` `",
    "mrkdwn": "*bold* _it_ ~strike~\n> quote\n- item\n1. one\n# head\n| a | b |",
    "bidi": "\u202egpj.exe\u202c \u2066 \u2069 \u200f \u061c",
    "zero width": "a\u200bb\u200d \u2060 \ufeff \u00ad \u034f \u3164 \u180e \U000e0041",
    "controls": "\x07 \x1b[2J \x7f \x85 \u2028 \u2029 \ue000",
    "emoji": "👩\u200d👩\u200d👧 🏴\U000e0067\U000e007f ❤\ufe0f 🇩🇪 :tada: :rotating_light:",
    "right to left": "مرحبا שלום \u0661\u0662\u0663",
    "lone marks": "\u0336\u0489 z\u0301\u0301\u0301\u0301\u0301\u0301 \u20e0",
    "newlines": "one\n\n*Left to refund*\n1.00 USD\r\n\tend",
    "entities": "&amp; &lt;!channel&gt; &#60; &amp;lt;",
    "names of channels": "@channel @here #general @ana",
}
# Over 3,000 characters as Slack counts them, and as it is written out.
LONG = {
    "ampersands": "&" * 3_100,
    "angles": "<!channel>" * 400,
    "written out": "\u202e" * 700,
    "far planes": "\U000e0041" * 500,
    "one word": "x" * 3_500,
    "lines": "yyy\n" * 800,
    "signs": "日本" * 1_700,
}
MARK = "NAME"
_MARKED = re.compile(r"M(\d+)~")
# What the tools' arguments and the model's calls are bounded to.
ORDER, ADDRESS, SUBJECT, TOOL = 64, 254, 200, 100
TOOLS = ("refund", "e-mail", "flag", "unheard of")


@dataclass
class Marks:
    """Gives each field its own mark around the text, by which it is found again."""

    text: str
    number: int = field(default=0)

    def next(self, most: int = 10_000) -> str:
        """Return the text, at most so much of it, with a fresh mark before and behind."""
        self.number += 1
        return f"M{self.number}~{self.text[: most - 12]}~{self.number}M"


def view_of(tool: str, status: Status, text: str) -> ApprovalView:
    """Return a request whose every field of others' making holds the text."""
    marks = Marks(text)
    verdict = {Status.REJECTED: "reject", Status.SUPERSEDED: "edit"}.get(status, "approve")
    changes: dict[str, Any] = {
        "status": status,
        "order_id": marks.next(ORDER),
        "model": marks.next(),
        "model_reason": marks.next(),
        "confidence": marks.next(),
        "findings": tuple(Finding(Reason.AMBIGUOUS, marks.next()) for _ in range(2)),
        "taken_by": marks.next(),
        "taken_at": START,
        "escalations": 1,
        "edited_by": (ANN,),
        "result": _result(marks),
        "attempts": 1,
        "ended_at": START,
    }
    shown = _made(tool, marks, changes)
    ballots = (
        vote(name=marks.next(), verdict=verdict, reason=marks.next(), category="other"),
        vote(by=ANN, name=marks.next(), reason=marks.next(), note=marks.next(), break_glass=True),
    )
    asked = tuple(
        Ask(
            f"ask_{number}",
            shown.id,
            shown.conversation_id,
            shown.run_id,
            of,
            BOB,
            marks.next(),
            marks.next(),
            START,
            START,
            marks.next(),
            late=False,
        )
        for number, of in enumerate(AskedOf)
    )
    return ApprovalView(
        approval=shown,
        votes=ballots,
        customer_name=f"{MARK} {text}",
        customer_email=f"{MARK}{text}",
        customer_words=tuple(marks.next() for _ in range(3)),
        stopped=status is Status.UNKNOWN,
        asks=asked,
    )


def _result(marks: Marks) -> Payload:
    names = ("refund_id", "message", "code", "reply", "problem", "flag_id", "reason")
    return {name: marks.next() for name in names}


def _made(tool: str, marks: Marks, changes: dict[str, Any]) -> Approval:
    letter = {
        "customer_id": CUSTOMER,
        "order_id": marks.next(ORDER),
        "template": marks.next(ORDER),
        "to": [marks.next(ADDRESS), marks.next(ADDRESS)],
        "cc": [marks.next(ADDRESS)],
        "bcc": [marks.next(ADDRESS)],
        "subject": marks.next(SUBJECT),
        "body": marks.next(),
    }
    match tool:
        case "refund":
            original = refund_payload(usd("90.00"), marks.next(ORDER))
            return approval(original=original, **changes)
        case "e-mail":
            before = {
                **letter,
                "subject": marks.next(SUBJECT),
                "body": marks.next(),
                "to": ["a@b.example"],
            }
            return email_approval(payload=letter, original=before, **changes)
        case "flag":
            payload: Payload = {
                "customer_id": CUSTOMER,
                "order_id": marks.next(ORDER),
                "score": marks.next(),
                "action": FlagAction.HOLD.value,
                "signals": [marks.next(), marks.next()],
            }
            return flag_approval(payload=payload, original=payload, **changes)
        case _:
            strange: Payload = {marks.next(): marks.next(), "list": [marks.next(), {"x": 1}]}
            return approval(
                tool=marks.next(TOOL), amount=None, payload=strange, original=strange, **changes
            )


def assert_harmless(drawn: Block | list[Block]) -> None:
    """Hold that others' text is shown letter by letter, nothing of it unseen or cut silently."""
    for one in objects(drawn):
        words = one.get("text")
        if not isinstance(words, str):
            continue
        assert not any(char in words for char in UNSEEN), repr(words[:200])
        if one["type"] == "mrkdwn":
            assert MARK not in words
            assert not _MARKED.search(words), words
        if one["type"] == "plain_text":
            assert one["emoji"] is False
    literal = _literal(drawn)
    marked = _MARKED.split(literal)
    for number, shown in zip(marked[1::2], marked[2::2], strict=True):
        assert f"~{number}M" in literal or "…" in shown, (number, shown[:100])


def assert_harmless_text(text: str) -> None:
    """Hold that a message's own text, which is mrkdwn, holds no markup of others."""
    assert "<" not in text
    assert ">" not in text
    assert not any(char in text for char in UNSEEN)
    assert len(text.encode()) <= 3_800


def _literal(drawn: Block | list[Block]) -> str:
    return "".join(
        one["text"]
        for one in objects(drawn)
        if isinstance(one.get("text"), str) and one["type"] in {"plain_text", "text", "raw_text"}
    )


LATER = START + timedelta(minutes=4)
