"""The App Home tab: what waits for its reader, how the desk stands, what they did today; pure."""

from datetime import datetime

from agent.domain.queue import Page, Seat, Standing, Waiting
from agent.domain.roles import Actor
from agent.steps.queue import Look
from bot.slack.blocks import (
    Block,
    actions,
    button,
    context,
    divider,
    header,
    moment_token,
    ours,
    section,
)
from bot.slack.names import COMMAND, Action
from bot.slack.rows import deed_row, waiting_row
from bot.slack.standing import switch_blocks
from bot.slack.targets import ShowTarget, TurnTarget
from bot.slack.text import clip, visible

# Three blocks a request and two an act; a view holds 100.
ROWS, DEEDS = 20, 10
_WHY = 300
_TOOLS = (
    (Action.SHOW_QUEUE, "All that waits"),
    (Action.FIND, "Find…"),
    (Action.SHOW_HAND_OFFS, "Hand-offs"),
    (Action.SHOW_STATS, "Stats"),
    (Action.SHOW_BREAKER, "Breaker"),
)
_REFRESH, _HELP = (Action.HOME_REFRESH, "Refresh"), (Action.SHOW_HELP, "Help")


def home_view(look: Look) -> Block:
    """Return the tab of a member of staff, without the time of its drawing."""
    return _tab(
        header(_waits(look.mine.total)),
        context(ours(_around(look))),
        actions("tools", *tools(first=_REFRESH, last=_HELP)),
        *switch_blocks(look.switches, look.powers),
        divider(),
        *_queue(look),
        *_day(look),
    )


def outside_view(seat: Seat) -> Block:
    """Return the tab of somebody who is shown nothing, and why."""
    return _tab(header("Supportdesk"), section(turned_away(seat)))


def plain_view() -> Block:
    """Return a tab for a workspace that does not take the usual one."""
    told = f"This tab cannot be shown here. Type {COMMAND} pending, or use the buttons."
    return _tab(header("Supportdesk"), section(told), actions("tools", *tools(last=_HELP)))


def turned_away(seat: Seat) -> str:
    """Return why somebody is shown nothing: three different reasons."""
    match seat.standing:
        case Standing.GUEST:
            return "Guests and accounts that are switched off cannot use this desk."
        case Standing.UNVERIFIED:
            why = clip(visible(seat.problem), _WHY)
            return f"Your role could not be verified just now ({why}). Try again in a minute."
        case _:
            return (
                "You have no role at this desk. The roles come from Slack user groups: ask your "
                "lead."
            )


def stamped(view: Block, now: datetime) -> Block:
    """Return a tab with the time of its drawing."""
    drawn = context(ours(f"As of {moment_token(now)}."))
    return {**view, "blocks": [*view["blocks"], drawn]}


def tools(
    *, first: tuple[Action, str] | None = None, last: tuple[Action, str] | None = None
) -> list[Block]:
    """Return the buttons for what the command can show, between the first and the last."""
    around = ([] if first is None else [first], [] if last is None else [last])
    return [button(action, label, _SHOW) for action, label in (*around[0], *_TOOLS, *around[1])]


_SHOW = ShowTarget(v=1).text()


def _tab(*blocks: Block) -> Block:
    return {"type": "home", "blocks": list(blocks)}


def _waits(total: int) -> str:
    match total:
        case 0:
            return "Nothing waits for you"
        case 1:
            return "1 request waits for you"
        case _:
            return f"{total:,} requests wait for you"


def _around(look: Look) -> str:
    """Return what else there is, beside the reader's own queue."""
    told = [f"{look.others:,} more for other people" if look.others else "Nothing for others"]
    if look.unread:
        told.append(f"{look.unread:,} more, less urgent, not counted here")
    told.append(f"you decided {f'{look.done:,}' if look.done else 'nothing'} today")
    return " · ".join(told)


def _queue(look: Look) -> list[Block]:
    page, reader = look.mine, look.seat.actor
    if not page.rows or reader is None:
        return [section("New requests appear here, and in the approvals channel.")]
    return [*_rows(page, reader), *_turn(page)]


def _rows(page: Page[Waiting], reader: Actor) -> list[Block]:
    numbered = enumerate(page.rows)
    return [block for n, waiting in numbered for block in waiting_row(waiting, reader, n)]


def _turn(page: Page[Waiting]) -> list[Block]:
    """Return the buttons that turn the pages, if there is more than one."""
    if page.pages == 1:
        return []
    last = page.first + len(page.rows)
    more = f" {page.beyond:,} more." if page.beyond else ""
    told = f"{page.first + 1:,} to {last:,} of {page.total:,}.{more}"
    offered = []
    if page.number:
        before = TurnTarget(page=page.number - 1).text()
        offered.append(button(Action.HOME_BACK, "◀ Previous", before))
    if page.beyond:
        after = TurnTarget(page=page.number + 1).text()
        offered.append(button(Action.HOME_ON, "Next ▶", after))
    return [context(ours(told)), actions(f"pages:{page.number}", *offered)]


def _day(look: Look) -> list[Block]:
    if not look.deeds:
        return []
    shown = look.deeds[:DEEDS]
    more = look.done - len(shown)
    rest = [context(ours(f"{more:,} more today."))] if more > 0 else []
    return [
        header("What you decided today"),
        *(block for n, deed in enumerate(shown, start=ROWS) for block in deed_row(deed, n)),
        *rest,
    ]
