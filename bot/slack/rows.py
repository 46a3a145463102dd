"""Requests as rows of a list: what waits with a button to look at it, what somebody has decided."""

from agent.domain.approvals import Approval, ApprovalView, Status, Verdict
from agent.domain.escalation import Level
from agent.domain.privacy import mask_name
from agent.domain.queue import Deed, Waiting, is_taken_by
from agent.domain.roles import Actor
from bot.slack.blocks import (
    Block,
    Row,
    ago,
    divider,
    lines,
    moment,
    plain,
    rich,
    word,
)
from bot.slack.buttons import on
from bot.slack.names import Action
from bot.slack.states import look_of, phrase, progress_words, tier_words
from bot.slack.text import clip, visible

_NAME, _WHY = 150, 300
_DID = {Verdict.APPROVE: "approved", Verdict.REJECT: "rejected", Verdict.EDIT: "edited"}


def waiting_row(waiting: Waiting, reader: Actor, number: int) -> list[Block]:
    """Return three blocks: what and by when, why it waits with the button to look at it, a line.

    `number` tells the buttons of a list apart.
    """
    approval = waiting.approval
    view = ApprovalView(approval, waiting.votes, waiting.customer_name, "", ())
    until = "⏫ Escalated: decide by " if approval.escalations else "⏳ Decide by "
    due = [word(until), moment(approval.expires_at, "bold")]
    asked = [word(" · asked "), ago(approval.created_at)]
    why = "; ".join(finding.text for finding in approval.findings)
    who = f"{progress_words(view, ' approvals')} · {tier_words(approval.tier)}"
    return [
        rich(
            lines(
                _headline(approval, waiting.customer_name), [*due, *asked, *_looker(view, reader)]
            )
        ),
        {
            "type": "section",
            "block_id": f"row:{approval.id}:{approval.revision}:{len(waiting.votes)}",
            "text": plain(f"{clip(visible(why) or '-', _WHY)}\n{who}"),
            "accessory": on(approval, Action.REVIEW, "Review", number=number),
        },
        divider(),
    ]


def deed_row(deed: Deed, number: int) -> list[Block]:
    """Return two blocks: what somebody decided and when, and what has come of it since."""
    approval = deed.approval
    look = look_of(approval)
    glass = ", breaking the glass" if deed.break_glass else ""
    told = [*_headline(approval, deed.customer_name), word(" · "), moment(deed.at)]
    return [
        rich(lines(told)),
        {
            "type": "section",
            "block_id": f"deed:{approval.id}:{deed.verdict}:{deed.break_glass:d}:{approval.status}",
            "text": plain(f"You {_DID[deed.verdict]} it{glass} · {look.sign} {look.verdict}"),
            "accessory": on(approval, Action.REVIEW, "Details", number=number),
        },
    ]


def plain_row(approval: Approval, customer_name: str, number: int) -> list[Block]:
    """Return two blocks: a request in whatever state, how it stands, the button to look at it."""
    look = look_of(approval)
    waits = approval.status is Status.PENDING
    asked = [word("Asked "), moment(approval.created_at)]
    due = [word(" · decide by "), moment(approval.expires_at)] if waits else []
    return [
        rich(lines(_headline(approval, customer_name), [*asked, *due])),
        {
            "type": "section",
            "block_id": f"found:{approval.id}:{approval.status}",
            "text": plain(f"{look.sign} {look.verdict}"),
            "accessory": on(
                approval, Action.REVIEW, "Review" if waits else "Details", number=number
            ),
        },
    ]


def _headline(approval: Approval, customer_name: str) -> Row:
    """Return what a request is about; whose it is, masked as on a card."""
    order = "" if approval.order_id is None else f" · {clip(visible(approval.order_id), _NAME)}"
    name = clip(visible(mask_name(customer_name)), _NAME)
    return [word(phrase(approval), "bold"), word(f"{order}{f' · {name}' if name else ''}")]


def _looker(view: ApprovalView, reader: Actor) -> Row:
    """Return how far the request was brought up, and who looks into it, if anybody does."""
    approval = view.approval
    told: Row = []
    if approval.pinged >= Level.ONCALL and not approval.escalations:
        told.append(word(" · 🔔 on call was told"))
    if approval.taken_by is not None:
        who = "you look" if is_taken_by(approval, reader) else f"{approval.taken_by} looks"
        told.append(word(f" · 👀 {clip(visible(who), _NAME)} into it"))
    return told
