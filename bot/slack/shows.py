"""Everything that somebody can look at beside the Home tab: read by the step, drawn for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.domain.approvals import ApprovalView
from agent.domain.ids import ApprovalId
from agent.domain.policy import Policy
from agent.domain.queue import Seat, Waiting, page_of
from agent.domain.roles import Actor
from agent.steps.queue import Look, look, powers_of, read_numbers, read_pool, read_switches
from bot.slack.blocks import Block, context, header, ours, section
from bot.slack.cards import approval_card
from bot.slack.commands import help_blocks, help_words
from bot.slack.hand_offs import hand_off_row
from bot.slack.home import tools
from bot.slack.lookup import slack_users
from bot.slack.names import Action
from bot.slack.numbers import number_blocks, number_words
from bot.slack.rows import deed_row, plain_row, waiting_row
from bot.slack.standing import switch_blocks, switch_words
from bot.slack.text import clip, visible
from storage import approvals, breaker, decisions
from storage import hand_offs as hand_off_rows
from storage.transaction import Tx

_TYPED = 60
_HINT = "The last six characters of an id find what is open or ended in the last seven days."
# A message holds fifty blocks: three a request that waits, two an act.
_MINE = 8
# Of an answer that was not sent.
_KEPT = 2_900


@dataclass(frozen=True, slots=True)
class Shown:
    """Something to look at: for a modal's title, for a notification, and for the eyes.

    `is_empty` tells that what was asked for is not there.
    """

    heading: str
    text: str
    blocks: list[Block]
    is_empty: bool = False


def pending(tx: Tx, seat: Seat, now: datetime, most: int) -> Shown:
    """Return what waits for anybody, the soonest deadline first."""
    pool = read_pool(tx)
    waiting = [one for one in pool.waiting if one.approval.is_open(now)]
    shown = page_of(waiting, 0, most)
    # What is past its deadline ends with the next sweep.
    total = pool.total - (len(pool.waiting) - len(waiting))
    told = f"{total:,} waiting for a person." if total else "Nothing waits for a person."
    more = total - len(shown.rows)
    foot = f"{more:,} more. The Home tab has your own, page by page." if more else ""
    return Shown(
        "All that waits",
        told,
        [header(told), *_rows(shown.rows, _reader(seat)), *_foot(foot)],
    )


def mine(tx: Tx, seat: Seat, now: datetime) -> Shown:
    """Return what waits for the reader and what they decided today."""
    seen = look(tx, seat, now, 0, _MINE)
    told = f"{seen.mine.total:,} waiting for you, {seen.done:,} decided by you today."
    blocks = [header(told), *_rows(seen.mine.rows, _reader(seat)), *_rest(seen)]
    return Shown("Mine", told, blocks)


def stats(tx: Tx, seat: Seat, now: datetime) -> Shown:
    """Return the numbers of the reader's day and of seven days."""
    numbers = read_numbers(tx, seat, now)
    return Shown("Stats", number_words(numbers), number_blocks(numbers))


def switches(tx: Tx, seat: Seat, now: datetime, policy: Policy) -> Shown:
    """Return how the breaker and the stop switch stand."""
    found, limits = read_switches(tx, now), policy.breaker_limits()
    admitted = breaker.admitted_since(tx, found.generation, now - limits.window)
    window = round(limits.window / timedelta(seconds=1))
    counted = f"{admitted} of {limits.max_refunds} automatic refunds in the last {window} seconds."
    blocks = switch_blocks(found, powers_of(seat.roles), counted)
    return Shown("Breaker", f"{switch_words(found)} {counted}", blocks)


def hand_offs(tx: Tx, most: int) -> Shown:
    """Return the customers who need a person or have one, whoever waits longest first."""
    found, total = hand_off_rows.still_open(tx, most), hand_off_rows.count_open(tx)
    told = f"{total:,} with a person or waiting for one." if total else "Nobody needs a person."
    more = f"{total - len(found):,} more." if total > len(found) else ""
    rows = [block for n, one in enumerate(found) for block in hand_off_row(one, n)]
    return Shown("Hand-offs", told, [header(told), *rows, *_foot(more)])


def replied(problem: str | None, text: str) -> Shown:
    """Return what came of an answer to a customer; one that was not sent is given back."""
    if problem is None:
        told = "Sent. The customer reads it now."
        return Shown("Sent", told, [section(told)])
    kept = section(clip(visible(text, lines=True), _KEPT))
    return Shown("Not sent", problem, [section(f"Not sent: {problem}"), kept])


def usage(unknown: str | None = None) -> Shown:
    """Return what the command can do."""
    return Shown(
        "Help", help_words(), help_blocks(unknown, tools(first=(Action.SHOW_MINE, "Mine")))
    )


def requests(tx: Tx, ids: Sequence[ApprovalId], typed: str, now: datetime) -> Shown:
    """Return the request that somebody meant as a card, or all that they may have meant."""
    if len(ids) != 1:
        return found(tx, ids, typed)
    (view,) = _views(tx, ids)
    # Slack says nothing to anybody if it does not know a block of a command's answer.
    card = approval_card(view, now, slack_users(tx, view), classic=True)
    return Shown("Found", card.text, card.blocks)


def found(tx: Tx, ids: Sequence[ApprovalId], typed: str) -> Shown:
    """Return requests as rows, each with the button to look at it."""
    if not ids:
        told = f"There is no request “{clip(visible(typed), _TYPED)}”. {_HINT}"
        return Shown("Not found", told, [section(told)], is_empty=True)
    told = "1 request" if len(ids) == 1 else f"{len(ids)} requests, the newest first"
    rows = [
        block
        for number, view in enumerate(_views(tx, ids))
        for block in plain_row(view.approval, view.customer_name, number)
    ]
    return Shown("Found", told, [header(told), *rows])


def _views(tx: Tx, ids: Sequence[ApprovalId]) -> list[ApprovalView]:
    known = [approvals.get(tx, approval_id) for approval_id in ids]
    return [decisions.view(tx, approval) for approval in known if approval is not None]


def _reader(seat: Seat) -> Actor:
    if seat.actor is None:
        raise ValueError("only staff is shown anything")
    return seat.actor


def _rows(waiting: Sequence[Waiting], reader: Actor) -> list[Block]:
    return [block for n, one in enumerate(waiting) for block in waiting_row(one, reader, n)]


def _rest(seen: Look) -> list[Block]:
    """Return what follows the reader's queue: how much more there is, and their day."""
    page, deeds = seen.mine, seen.deeds[:_MINE]
    more = f"{page.beyond:,} more wait for you in the Home tab." if page.beyond else ""
    day = [header("What you decided today")] if deeds else []
    earlier = seen.done - len(deeds)
    return [
        *_foot(more),
        *day,
        *(block for n, deed in enumerate(deeds, start=_MINE) for block in deed_row(deed, n)),
        *_foot(f"{earlier:,} more today." if earlier > 0 else ""),
    ]


def _foot(told: str) -> list[Block]:
    return [context(ours(told))] if told else []
