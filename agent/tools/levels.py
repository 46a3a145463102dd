"""How much hangs on a request: low, medium or high, by what its tool is declared to do (§5)."""

from dataclasses import dataclass
from enum import StrEnum

from agent.domain.approvals import Approval
from agent.domain.fraud import TRIGGERS, FlagAction
from agent.tools.flags import FLAG_FOR_FRAUD
from agent.tools.registry import TOOLS


class Level(StrEnum):
    """What a person should bring along: a glance, a look, or care."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Weighed:
    """A level with the facts behind it, in our own words; `triggers` is what it sets in motion."""

    level: Level
    facts: tuple[str, ...]
    triggers: str


_OF_IMPACT = {"low": Level.LOW, "moderate": Level.MEDIUM, "high": Level.HIGH}
_UNDO = {"no": "cannot be undone", "in part": "can be undone in part", "yes": "can be undone"}


def weigh(approval: Approval) -> Weighed:
    """Return the level of a request; a tool that the desk does not know is high."""
    tool = TOOLS.get(approval.tool)
    if tool is None:
        return Weighed(Level.HIGH, ("the desk does not know this tool",), "")
    action = _action(approval)
    if action is None:
        facts = (_UNDO[tool.reversible], f"triggers: {tool.triggers}")
        return Weighed(_OF_IMPACT[tool.impact], facts, tool.triggers)
    # Of a flag the impact is that of its action: one that only watches triggers nothing.
    level = Level.LOW if action is FlagAction.MONITOR else _OF_IMPACT[tool.impact]
    return Weighed(level, (_UNDO[tool.reversible], f"action {action}"), TRIGGERS[action])


def _action(approval: Approval) -> FlagAction | None:
    named = approval.payload.get("action") if approval.tool == FLAG_FOR_FRAUD.name else None
    return next((action for action in FlagAction if action.value == named), None)
