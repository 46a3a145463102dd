"""What stands on a card in place of the buttons: who, when, what came of it, what is left to do."""

from collections.abc import Iterator
from datetime import datetime

from agent.domain.approvals import Approval, ApprovalView, Status, Vote
from bot.slack import buttons
from bot.slack.blocks import (
    Block,
    Row,
    actions,
    emoji,
    lines,
    mention,
    moment,
    quote,
    rich,
    word,
)
from bot.slack.parts import People
from bot.slack.states import (
    category_words,
    closed_by,
    deciding_votes,
    lapse_words,
    look_of,
    outcome,
    progress_words,
    revoke_reason,
    signing_votes,
)
from bot.slack.text import NAME_LIMIT, NO_LIMIT, clip, visible


def ending(
    view: ApprovalView,
    now: datetime,
    people: People,
    replacement_url: str | None,
    limit: int = NO_LIMIT,
) -> list[Block]:
    """Return who, when and what, and what can still be done; nothing while people can decide."""
    approval = view.approval
    if approval.is_open(now):
        return []
    if approval.status in {Status.PENDING, Status.EXPIRED}:
        told = _lapsed(view, people, replacement_url)
    else:
        told = _ended(view, people, replacement_url, limit)
    left = _still_possible(approval, brief=limit != NO_LIMIT)
    return [told, *([actions(buttons.row_id(view), *left)] if left else [])]


def _still_possible(approval: Approval, *, brief: bool) -> list[Block]:
    """Return the buttons of a request that nobody can decide any more."""
    if approval.superseded_by is not None:
        return []
    match approval.status:
        case Status.APPROVED:
            possible = [buttons.revoke_button(approval)]
        case Status.STALE | Status.EXPIRED:
            possible = [buttons.ask_again_button(approval)]
        case _:
            possible = []
    if brief or approval.status is Status.UNKNOWN:
        possible.append(buttons.details_button(approval))
    return possible


def _ended(view: ApprovalView, people: People, replacement_url: str | None, limit: int) -> Block:
    approval = view.approval
    look, votes = look_of(approval), signing_votes(view)
    signed = [word(" by "), *signatures(votes, people)] if votes else _closed(approval)
    rows = [[emoji(look.emoji), word(f" {look.verdict}", "bold"), *signed]]
    earlier = () if votes else deciding_votes(view)
    rows += _broken_glass(votes or earlier, people, limit)
    if told := clip(visible(outcome(approval, stopped=view.stopped)), limit):
        rows.append([word(told)])
    rows += [[word(category_words(v.category))] for v in votes if v.category is not None]
    if earlier:
        rows.append([word("Approved by "), *signatures(earlier, people)])
    rows += _successor(approval, replacement_url)
    said = [v.reason for v in votes if v.reason and not v.break_glass]
    said += [revoke_reason(approval)] if revoke_reason(approval) else []
    return rich(lines(*rows), *(quote(clip(visible(text, lines=True), limit)) for text in said))


def _closed(approval: Approval) -> Row:
    """Return who ended a request by their word alone, and when, as far as it is known."""
    closer = closed_by(approval)
    shown = clip(visible(closer or ""), NAME_LIMIT)
    by = [word(" by "), word(shown, "bold")] if shown else []
    at = [] if approval.ended_at is None else [word(" · "), moment(approval.ended_at)]
    return [*by, *at]


def _broken_glass(votes: tuple[Vote, ...], people: People, limit: int) -> list[Row]:
    return [
        [
            emoji("rotating_light"),
            word(" "),
            _voter(vote, people),
            word(" broke the glass", "bold"),
            word(f": {clip(visible(vote.reason), limit)}"),
        ]
        for vote in votes
        if vote.break_glass
    ]


def _lapsed(view: ApprovalView, people: People, replacement_url: str | None) -> Block:
    approval = view.approval
    look = look_of(approval, Status.EXPIRED)
    rows = [
        [
            emoji(look.emoji),
            word(f" {look.verdict}", "bold"),
            word(" · "),
            moment(approval.expires_at),
            word(f". {lapse_words(approval)}"),
        ]
    ]
    if votes := deciding_votes(view):
        had = progress_words(view, " had approved")
        rows.append([word(f"{had}: "), *signatures(votes, people)])
    rows += _successor(approval, replacement_url) or [
        [word("What still waits is in this app's Home tab.", "italic")]
    ]
    return rich(lines(*rows))


def _successor(approval: Approval, url: str | None) -> list[Row]:
    """Return where it went on: the edited request, or the one that was asked again."""
    if approval.superseded_by is None:
        return []
    edited = approval.status is Status.SUPERSEDED
    lead = "The edited request is " if edited else "Asked again: the new request is "
    told = [word(lead), word(approval.superseded_by, "code")]
    if url is None:
        return [[*told, word(".")]]
    return [[*told, word(": "), {"type": "link", "url": url, "text": "open its card"}]]


def signatures(votes: tuple[Vote, ...], people: People) -> Iterator[Block]:
    """Yield who voted and when, for the middle of a line."""
    for index, vote in enumerate(votes):
        if index:
            yield word(", ")
        yield _voter(vote, people)
        yield word(" · ")
        yield moment(vote.at)


def _voter(vote: Vote, people: People) -> Block:
    user = None if vote.actor_id is None else people.get(vote.actor_id)
    return mention(user, clip(visible(vote.actor_name), NAME_LIMIT))
