"""`check_policy`: what the shop's rules say, read from the policy file."""

import re
from typing import Annotated

from pydantic import Field

from agent.desk import Desk
from agent.domain.payload import Json, Payload
from agent.tools.base import Arguments, Caller, read_tool

_MOST_PASSAGES = 3


class CheckPolicy(Arguments):
    """Arguments of `check_policy`."""

    question: Annotated[str, Field(min_length=1, max_length=500)]


def _check(desk: Desk, _caller: Caller, arguments: Arguments) -> Payload:
    if not isinstance(arguments, CheckPolicy):
        raise TypeError("check_policy takes CheckPolicy")
    asked = set(re.findall(r"[a-z]+", arguments.question.lower()))
    ranked = sorted(
        desk.policy.shop_rules, key=lambda topic: -len(asked.intersection(topic.keywords))
    )
    hits = [topic for topic in ranked if asked.intersection(topic.keywords)][:_MOST_PASSAGES]
    passages: list[Json] = [{"title": t.title, "text": t.text} for t in hits]
    templates: list[Json] = [
        {"name": name, "subject": template.subject}
        for name, template in sorted(desk.policy.emails.templates.items())
    ]
    return {"ok": True, "passages": passages, "email_templates": templates}


CHECK_POLICY = read_tool(
    "check_policy",
    "Look up what the shop's rules say about returns, refunds, delivery and more.",
    CheckPolicy,
    _check,
)
