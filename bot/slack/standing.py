"""How the breaker and the stop switch stand, with the buttons of those who may throw them; pure."""

from agent.domain.breaker import BreakerState
from agent.steps.queue import Powers, Switches
from bot.slack import buttons
from bot.slack.blocks import Block, Row, actions, lines, moment, rich, word
from bot.slack.targets import BreakerTarget
from bot.slack.text import clip, visible

_HELD = "What is approved waits until the stop is lifted; requests can still be decided."
_NAME, _REASON = 150, 1_000


def switch_blocks(switches: Switches, powers: Powers, counted: str = "") -> list[Block]:
    """Return the state in a few lines, `counted` after them, and a row of buttons if there is one.

    The steps behind the buttons ask for the role once more.
    """
    rows = [*_stop(switches), *_breaker(switches)]
    if counted:
        rows.append([word(counted)])
    offered = _offered(switches, powers)
    row_id = f"switches:{switches.generation}:{switches.state}:{len(offered)}"
    return [rich(lines(*rows)), *([actions(row_id, *offered)] if offered else [])]


def switch_words(switches: Switches) -> str:
    """Return the same in a sentence or two for a notification."""
    return "\n".join(
        "".join(str(part.get("text") or part.get("fallback") or "") for part in row)
        for row in [*_stop(switches), *_breaker(switches)]
    )


def _stop(switches: Switches) -> list[Row]:
    """Return who stopped everything, when in the reader's own zone, and why."""
    note = switches.stop
    if note is None:
        return []
    by = clip(visible(note.by), _NAME) or "somebody"
    at = [] if note.at is None else [word(" at ", "bold"), moment(note.at, "bold")]
    why = f": {clip(visible(note.reason, lines=True), _REASON)}" if note.reason else ""
    told = [word(f"🛑 Everything is stopped, by {by}", "bold"), *at, word(why, "bold")]
    return [told if why else told[:-1], [word(_HELD)]]


def _breaker(switches: Switches) -> list[Row]:
    stopped = switches.stop is not None
    match switches.state:
        case BreakerState.CLOSED if stopped:
            return [[word("The breaker is closed; nothing runs by itself while all is stopped.")]]
        case BreakerState.CLOSED:
            return [[word("✅ Automatic refunds run.")]]
        case BreakerState.HALF_OPEN:
            told = "One automatic refund is let through as a trial; the others wait for it."
            return [[word(f"🔎 {told}")], *_seen(switches)]
        case _:
            until = (
                [word("until a person resets them")]
                if switches.retry_at is None
                else [word("until "), moment(switches.retry_at, "bold")]
            )
            return [[word("🚨 Automatic refunds are paused "), *until, word(".")], *_seen(switches)]


def _seen(switches: Switches) -> list[Row]:
    alert = switches.alert
    if alert is None or alert.acknowledged_by is None:
        return []
    return [[word(f"👀 {clip(visible(alert.acknowledged_by), _NAME)} looks into it.")]]


def _offered(switches: Switches, powers: Powers) -> list[Block]:
    alert, offered = switches.alert, list[Block]()
    if powers.acknowledge and alert is not None and alert.acknowledged_by is None:
        offered.append(buttons.acknowledge_button(alert.subject))
    if powers.reset and switches.state is not BreakerState.CLOSED:
        offered.append(buttons.reset_button(BreakerTarget(generation=switches.generation)))
    if powers.stop and switches.stop is None:
        offered.append(buttons.stop_button())
    if powers.lift and switches.stop is not None:
        offered.append(buttons.lift_button())
    return offered
