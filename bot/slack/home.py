"""The App Home tab: what waits for a person, oldest first; pure."""

from collections.abc import Sequence
from datetime import datetime

from agent.domain.approvals import ApprovalView
from bot.slack.blocks import (
    Block,
    actions,
    context,
    header,
    line,
    lines,
    moment,
    moment_token,
    ours,
    plain,
    rich,
    section,
    word,
)
from bot.slack.buttons import lift_button, on
from bot.slack.forms import stop_words
from bot.slack.names import Action
from bot.slack.states import progress_words, subject, tier_words, what
from bot.slack.text import clip, visible
from storage.breaker import StopNote

# Three blocks a row and a view holds 100.
ROWS = 20
_NAME, _WHY = 150, 300


def queue_view(
    waiting: Sequence[ApprovalView], total: int, now: datetime, stop: StopNote | None
) -> Block:
    """Return the Home tab of somebody with a role; at most `ROWS` requests are drawn.

    `stop` says who stopped everything, None while nothing is stopped.
    """
    shown = waiting[:ROWS]
    blocks = [] if stop is None else _stop_banner(stop)
    blocks.append(header("Waiting for a person"))
    for view in shown:
        blocks += _row(view)
    if not shown:
        blocks.append(section("Nothing waits. New requests appear in the approvals channel."))
    if total > len(shown):
        blocks.append(section(f"{total - len(shown)} more wait."))
    blocks.append(context(ours(f"As of {moment_token(now)}. Open the tab again to refresh.")))
    return {"type": "home", "blocks": blocks}


def stranger_view() -> Block:
    """Return the Home tab of somebody without a role at the desk."""
    text = "You have no role at this desk. The roles come from Slack user groups: ask your lead."
    return {"type": "home", "blocks": [header("Supportdesk"), section(text)]}


def queue_lines(waiting: Sequence[ApprovalView], total: int) -> list[Block]:
    """Return the queue as a short list, for the answer to a slash command."""
    if not waiting:
        return [section("Nothing waits for a person.")]
    rows = [
        [word(headline(view), "bold"), word(" until "), moment(view.approval.expires_at)]
        for view in waiting
    ]
    more = f"{total} in all. " if total > len(waiting) else ""
    foot = context(ours(f"{more}Decide on the cards, or in this app's Home tab."))
    return [rich(lines(*rows)), foot]


def headline(view: ApprovalView) -> str:
    """Return what a request is about in one line."""
    approval = view.approval
    order = "" if approval.order_id is None else f" · {visible(approval.order_id)}"
    return clip(f"{subject(approval)} {what(approval)}{order}", _NAME)


def _stop_banner(stop: StopNote) -> list[Block]:
    held = "What is approved waits until the stop is lifted; requests can still be decided."
    return [section(stop_words(stop)), actions("stop", lift_button()), context(plain(held))]


def _row(view: ApprovalView) -> list[Block]:
    approval = view.approval
    why = "; ".join(finding.text for finding in approval.findings)
    return [
        rich(
            line(
                word(headline(view), "bold"), word(f" · {clip(visible(view.customer_name), _NAME)}")
            ),
        ),
        {
            "type": "section",
            "block_id": f"act:{approval.id}:{approval.revision}",
            "text": {
                "type": "plain_text",
                "emoji": False,
                "text": clip(visible(why) or "-", _WHY),
            },
            "accessory": on(approval, Action.REVIEW, "Review"),
        },
        context(
            ours(
                f"⏳ Decide by {moment_token(approval.expires_at)} · {tier_words(approval.tier)} · "
                f"{progress_words(view)}"
            )
        ),
    ]
