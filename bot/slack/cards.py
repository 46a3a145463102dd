"""The approval card: a picture of the row, drawn afresh each time, never read back."""

from dataclasses import dataclass
from datetime import datetime

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.tools.levels import weigh
from bot.slack import asked, buttons, emails, parts
from bot.slack.banners import stopped_banner
from bot.slack.blocks import (
    Block,
    actions,
    fallback,
    header,
    line,
    plain,
    rich,
    section,
    utc,
    weight,
    word,
)
from bot.slack.endings import ending, signatures
from bot.slack.names import Action
from bot.slack.parts import People
from bot.slack.proposals import email_of, flag_of
from bot.slack.states import (
    can_edit,
    look_of,
    progress_words,
    subject,
    title,
)
from bot.slack.text import NO_LIMIT, clip, visible

# Slack refuses a message at about 13,200 counted characters; the product stays well below.
BUDGET = 9_000
# How much of a name or an address a confirmation quotes.
_CONFIRM_PART = 60
# How much of each free text a brief card shows: the largest that fits.
BRIEF_LIMITS = (300, 100, 30)


# Who decides reads this much of what anybody said; Details has all of it. It is not bound.
_SAID_LIMIT = 600
# What was before an edit and what people asked is not bound: it is cut before anything that is.
_DIFFERENCE_LIMITS = (NO_LIMIT, 300, 40)


@dataclass(frozen=True, slots=True)
class Card:
    """A card ready to post. `complete` tells that every bound field is on it, nothing cut."""

    blocks: list[Block]
    text: str
    complete: bool


def approval_card(
    view: ApprovalView,
    now: datetime,
    people: People,
    *,
    classic: bool = False,
    replacement_url: str | None = None,
) -> Card:
    """Draw the card of an approval as it stands.

    `people` gives the Slack user ids of actors, `classic` leaves out the newer block types,
    `replacement_url` points to the card of the request that took its place. A request that does
    not fit is drawn briefly, with Review in place of Approve.
    """
    for limit in _DIFFERENCE_LIMITS:
        blocks = _whole(view, now, people, replacement_url, limit, classic=classic)
        if weight(blocks) <= BUDGET:
            return Card(blocks, fallback_text(view), complete=True)
    return brief_card(view, now, people, replacement_url=replacement_url)


def _whole(
    view: ApprovalView,
    now: datetime,
    people: People,
    replacement_url: str | None,
    difference_limit: int,
    *,
    classic: bool,
) -> list[Block]:
    approval = view.approval
    return [
        header(title(approval)),
        *stopped_banner(view),
        *_present(parts.difference(approval, people, difference_limit)),
        parts.facts_block(view, offer_reveal=view.approval.is_open(now)),
        *parts.money(approval, classic=classic),
        parts.reasons(approval),
        *parts.substance(view),
        *parts.words(view, _SAID_LIMIT),
        *asked.on_card(view, difference_limit),
        parts.payload(approval),
        parts.small_print(approval),
        *_progress(view, now, people),
        *(ending(view, now, people, replacement_url) or [_decide(view)]),
    ]


def brief_card(
    view: ApprovalView, now: datetime, people: People, *, replacement_url: str | None = None
) -> Card:
    """Draw the card of a request that is too long for one: Review shows all of it."""
    approval = view.approval
    blocks: list[Block] = []
    for limit in BRIEF_LIMITS:
        blocks = [
            header(title(approval)),
            *stopped_banner(view),
            *_present(parts.difference(approval, people, limit)),
            parts.facts_block(view, offer_reveal=view.approval.is_open(now), limit=limit),
            *parts.money(approval, classic=True),
            parts.reasons(approval, limit),
            *parts.substance(view, limit),
            *parts.words(view, limit),
            *asked.on_card(view, limit),
            parts.small_print(approval),
            *_progress(view, now, people),
            *(ending(view, now, people, replacement_url, limit) or _review_only(view)),
        ]
        if weight(blocks) <= BUDGET:
            break
    return Card(blocks, fallback_text(view), complete=False)


def fallback_text(view: ApprovalView) -> str:
    """Return what screen readers and notifications say: what, order, level, why, state."""
    approval = view.approval
    order = "" if approval.order_id is None else f" on order {approval.order_id}"
    why = "; ".join(finding.text for finding in approval.findings)
    level = f"Level {weigh(approval).level}"
    state = (
        f"Waiting until {utc(approval.expires_at)}, {progress_words(view, ' approvals')}."
        if approval.status is Status.PENDING
        else f"{look_of(approval).verdict}."
    )
    stopped = " Everything is stopped." if stopped_banner(view) else ""
    told = f"{title(approval)}{order}. {level}{f': {why}' if why else ''}. {state}{stopped}"
    return fallback(visible(told))


def _present(block: Block | None) -> list[Block]:
    return [] if block is None else [block]


def _decide(view: ApprovalView) -> Block:
    approval = view.approval
    approve = buttons.on(approval, Action.APPROVE, "Approve", "primary")
    approve["confirm"] = {
        "title": plain(f"Approve this {_noun(approval)}?"),
        "text": plain(_confirm_words(view)),
        "confirm": plain("Approve"),
        "deny": plain("Not yet"),
    }
    return actions(
        buttons.row_id(view),
        approve,
        *([buttons.edit_button(approval)] if can_edit(approval) else []),
        buttons.ask_button(approval),
        buttons.reject_button(approval),
        buttons.details_button(approval),
    )


def _review_only(view: ApprovalView) -> list[Block]:
    return [
        section(
            "This request is too long for a card. Review shows all of it, and it can be approved "
            "only there."
        ),
        actions(buttons.row_id(view), buttons.review_button(view.approval)),
    ]


def _noun(approval: Approval) -> str:
    noun = subject(approval)
    return f"{noun[:1].lower()}{noun[1:]}"


def _confirm_words(view: ApprovalView) -> str:
    """Return what the click does, at most 300 characters: no long text hides the rest."""
    approval = view.approval
    email, flag = email_of(approval), flag_of(approval)
    person = clip(visible(parts.customer_name(view)), _CONFIRM_PART) or "the customer"
    if email is not None:
        told = f"It leaves for {clip(emails.audience(email), _CONFIRM_PART)}, and cannot be undone"
    elif flag is not None:
        told = f"It is about {person}; triggers: {flag.triggers}"
    else:
        named = "" if approval.order_id is None else f" on order {visible(approval.order_id)}"
        amount = visible(approval.tool) if approval.amount is None else str(approval.amount)
        told = f"{clip(f'{amount}{named}', _CONFIRM_PART)} goes to {person}"
    return f"{told.removesuffix('.')}. Approvals so far: {progress_words(view)}."


def _progress(view: ApprovalView, now: datetime, people: People) -> list[Block]:
    votes = tuple(vote for vote in view.votes if vote.verdict == "approve")
    if not view.approval.is_open(now):
        return []
    if not votes:
        return parts.taken(view)
    return [
        *parts.taken(view),
        rich(
            line(
                word(progress_words(view, " approvals"), "bold"),
                word(": "),
                *signatures(votes, people),
            )
        ),
    ]
