"""The App Home tab: what waits for a person, oldest first; pure."""

from collections.abc import Sequence
from datetime import datetime

from agent.domain.approvals import ApprovalView
from bot.slack.blocks import (
    Block,
    button,
    context,
    header,
    line,
    lines,
    moment,
    moment_token,
    ours,
    rich,
    section,
    word,
)
from bot.slack.names import Action
from bot.slack.states import progress_words, subject, tier_words
from bot.slack.targets import Target
from bot.slack.text import clip, visible

# Three blocks a row and a view holds 100.
ROWS = 20
_NAME, _WHY = 150, 300


def queue_view(waiting: Sequence[ApprovalView], total: int, now: datetime) -> Block:
    """Return the Home tab of somebody with a role; at most `ROWS` requests are drawn."""
    shown = waiting[:ROWS]
    blocks = [header("Waiting for a person")]
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
    what = approval.tool if approval.amount is None else str(approval.amount)
    order = "" if approval.order_id is None else f" · {visible(approval.order_id)}"
    return clip(f"{subject(approval)} {what}{order}", _NAME)


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
            "accessory": button(Action.REVIEW, "Review", Target.of(approval).text()),
        },
        context(
            ours(
                f"⏳ Decide by {moment_token(approval.expires_at)} · {tier_words(approval.tier)} · "
                f"{progress_words(view)}"
            )
        ),
    ]
