"""Everything about one request, page by page: what is asked, the conversation, what happened."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.domain.approvals import Approval, ApprovalView
from bot.slack import asked, buttons, parts
from bot.slack.banners import stopped_banner
from bot.slack.blocks import (
    Block,
    actions,
    button,
    code_block,
    context,
    header,
    line,
    plain,
    quote,
    rich,
    word,
)
from bot.slack.endings import ending
from bot.slack.inputs import about, modal
from bot.slack.names import Action, View
from bot.slack.paging import Entry, Reel, Room, Sheet, Spot, cut
from bot.slack.parts import People
from bot.slack.states import can_edit, subject, title
from bot.slack.targets import PageTarget, Section
from bot.slack.text import chunks, visible

_TEXT, _BUTTON = 2_900, 24
# A view takes 100 blocks and 250 KB; the rest of it must fit as well. Who reads wants less.
_REQUEST = Room(blocks=85, size=150_000)
_READING = Room(blocks=40, size=24_000)
_TABS: dict[Section, tuple[Action, str, str]] = {
    "request": (Action.DETAILS_REQUEST, "Request", ""),
    "conversation": (Action.DETAILS_CONVERSATION, "Conversation", "entries"),
    "history": (Action.DETAILS_HISTORY, "History", "events"),
    "attempts": (Action.DETAILS_ATTEMPTS, "Tries", "tries"),
}
_EMPTY = "There is nothing here."


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page of a request's details and how it stands; `reel` holds the page's section.

    `waiting` tells whether people can still decide, `sections` which ones there are.
    """

    view: ApprovalView
    people: People
    now: datetime
    waiting: bool
    page: PageTarget
    reel: Reel
    sections: Sequence[Section]


def details_view(leaf: Leaf, channel: str, *, may_break_glass: bool = False) -> Block:
    """Return one page as a modal.

    The last page of the request itself approves it, while it waits; with `may_break_glass` it
    offers to approve alone, above the tier.
    """
    approval, sheet = leaf.view.approval, _sheet(leaf)
    blocks = [_tabs(leaf), *_heading(leaf, sheet), *sheet.blocks, *_turning(leaf, sheet)]
    decides = leaf.waiting and leaf.page.section == "request" and sheet.after is None
    if not decides:
        return modal(View.DETAILS, subject(approval), blocks, metadata=about(approval, channel))
    submit = "Approve" if approval.amount is None else f"Approve {approval.amount}"
    return modal(
        View.REVIEW,
        f"Review {subject(approval).lower()}",
        [*blocks, _deciding(approval, may_break_glass=may_break_glass)],
        submit=submit if len(submit) <= _BUTTON else "Approve",
        metadata=about(approval, channel),
    )


def revealed_view(leaf: Leaf) -> Block:
    """Return the page with nothing masked; its reel holds the texts as they are."""
    told = context(plain("Nothing is masked here. The trail keeps that you have seen it."))
    sheet = cut(leaf.reel, _spot(leaf.page), _REQUEST)
    return modal(View.REVEALED, "Not masked", [told, *sheet.blocks])


def request_entry(view: ApprovalView, people: People, now: datetime, *, waiting: bool) -> Entry:
    """Return all that is asked and why, every text whole, in blocks that Slack takes."""
    approval = view.approval
    # Cut here only: what it was changed to stands whole below.
    edited = parts.difference(approval, people, _TEXT)
    return [
        header(title(approval)),
        *stopped_banner(view),
        *([] if waiting else ending(view, now, people, None)[:1]),
        *([] if edited is None else [edited]),
        parts.facts_block(view, offer_reveal=True),
        *parts.money(approval, classic=True),
        parts.reasons(approval),
        *parts.substance(view),
        *_words(view, revealed=False),
        *asked.in_full(view),
        rich(line(word("Exactly this will run" if waiting else "The exact request", "bold"))),
        *(rich(code_block(piece)) for piece in chunks(parts.payload_text(approval), _TEXT)),
        rich(line(word("sha256 "), word(approval.payload_hash, "code"))),
        context(plain(f"run {approval.run_id} · conversation {approval.conversation_id}")),
        parts.small_print(approval),
        *parts.taken(view),
    ]


def revealed_entry(view: ApprovalView) -> Entry:
    """Return what a card masks, whole: who the customer is, and what was said and asked."""
    said = [*_words(view, revealed=True), *asked.in_full(view, revealed=True)]
    return [parts.facts_block(view, revealed=True), *said]


def _words(view: ApprovalView, *, revealed: bool) -> list[Block]:
    """Return the free texts whole; masked unless `revealed`."""

    def quoted(text: str) -> list[Block]:
        shown = visible(text if revealed else parts.masked(view, text), lines=True)
        return [rich(quote(piece)) for piece in chunks(shown, _TEXT)]

    said = [rich(line(word("The customer wrote", "bold")))] if view.customer_words else []
    for number, text in enumerate(view.customer_words):
        said += [rich(line(word("and then", "italic")))] if number else []
        said += quoted(text)
    return [rich(parts.agent_heading(view.approval)), *quoted(view.approval.model_reason), *said]


def _sheet(leaf: Leaf) -> Sheet:
    room = _REQUEST if leaf.page.section == "request" else _READING
    return cut(leaf.reel, _spot(leaf.page), room)


def _spot(page: PageTarget) -> Spot:
    return Spot(page.entry, page.piece)


def _tabs(leaf: Leaf) -> Block:
    """Return the way to the other sections, and to what is masked on this page."""
    row = [
        _turn(leaf.view.approval, action, label, name, Spot())
        for name, (action, label, _) in _TABS.items()
        if name in leaf.sections and name != leaf.page.section
    ]
    # Of the request itself the way to what is masked stands beside the customer.
    if leaf.page.section == "conversation":
        row.append(buttons.reveal_button(leaf.page))
    return actions(f"tabs:{leaf.page.section}:{leaf.page.entry}:{leaf.page.piece}", *row)


def _heading(leaf: Leaf, sheet: Sheet) -> list[Block]:
    if leaf.page.section == "request":
        return []
    _, label, what = _TABS[leaf.page.section]
    if not sheet.blocks:
        return [rich(line(word(label, "bold"), word(f" · {_EMPTY}")))]
    where = f" · {what} {sheet.first} to {sheet.last} of {leaf.reel.total}"
    return [rich(line(word(label, "bold"), word(where)))]


def _turning(leaf: Leaf, sheet: Sheet) -> list[Block]:
    """Return the way to the pages before and after; nothing where there is one page alone."""
    approval, section = leaf.view.approval, leaf.page.section
    row = []
    if sheet.before is not None:
        row.append(_turn(approval, Action.DETAILS_PREVIOUS, "Previous", section, sheet.before))
    if sheet.after is not None:
        row.append(_turn(approval, Action.DETAILS_NEXT, "Next", section, sheet.after))
    return [actions(f"turn:{section}:{sheet.first}:{leaf.page.piece}", *row)] if row else []


def _turn(approval: Approval, action: Action, label: str, section: Section, to: Spot) -> Block:
    page = PageTarget.at(approval, section, to.entry, to.piece)
    return button(action, label, page.text())


def _deciding(approval: Approval, *, may_break_glass: bool) -> Block:
    return actions(
        f"act:{approval.id}:{approval.revision}",
        *([buttons.edit_button(approval)] if can_edit(approval) else []),
        buttons.ask_button(approval),
        buttons.reject_button(approval),
        *([buttons.break_glass_button(approval)] if may_break_glass else []),
    )
