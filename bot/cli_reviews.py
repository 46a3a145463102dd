"""`agent reviews …` and `agent customers …`: what ran without a person, looked at afterwards."""

from dataclasses import dataclass

import click

from agent.desk import Desk
from agent.domain.approvals import ApprovalView
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.reviews import Review, ReviewState
from agent.steps.review import answer_review, resume_automatic
from bot.cli_text import json_text, pairs, table
from bot.cli_world import CODE, WORDS, NotDone, World, unless_refused
from bot.shapes import pause_json, review_json, rfc3339
from storage import approvals, decisions, pauses
from storage import reviews as stored
from storage.transaction import Tx

_PAGE = 200
_STATE = click.Choice([state.value for state in ReviewState])
_effect = click.argument("approval_id", metavar="ID", type=CODE)


@dataclass(frozen=True, slots=True)
class _Line:
    """One review with the effect it is about, None where the stored row does not validate."""

    review: Review
    effect: ApprovalView | None


@click.group()
def reviews() -> None:
    """Look at automatic effects after they ran.

    ID is the approval's.
    """


@reviews.command("list")
@click.option("--state", type=_STATE, default=ReviewState.OPEN.value, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def list_reviews(world: World, state: str, *, as_json: bool) -> None:
    """List what waits for a look, or was looked at, oldest first.

    Takes no role.
    """
    with world.open_desk() as desk:
        found = _read(desk, ReviewState(state))
    if as_json:
        click.echo(json_text([review_json(one.review, one.effect) for one in found]))
        return
    header = ("ID", "ASKED", "WHY", "TOOL", "AMOUNT", "ORDER", "CUSTOMER", "BY", "REASON")
    click.echo(table(header, [_cells(one) for one in found]))


@reviews.command()
@_effect
@click.pass_obj
def right(world: World, approval_id: str) -> None:
    """Say that an automatic effect looks right.

    Takes the role refund_approver.
    """
    _answer(world, approval_id, "", right=True)


@reviews.command()
@_effect
@click.option("--reason", type=WORDS, required=True, help="What is wrong with it.")
@click.pass_obj
def flag(world: World, approval_id: str, reason: str) -> None:
    """Say what is wrong with an automatic effect.

    Counts as a false negative, and may pause what runs by itself for the customer. Takes the role
    refund_approver.
    """
    _answer(world, approval_id, reason, right=False)


@click.group()
def customers() -> None:
    """See for whom nothing runs by itself, and change that."""


@customers.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def paused(world: World, *, as_json: bool) -> None:
    """List for whom nothing runs without a person.

    Longest paused first. Takes no role.
    """
    with world.open_desk() as desk, desk.store.transaction(write=False) as tx:
        found = pauses.everyone(tx)
    if as_json:
        click.echo(json_text([pause_json(one) for one in found]))
        return
    rows = [(one.customer_id, rfc3339(one.since), one.approval_id, one.reason) for one in found]
    click.echo(table(("CUSTOMER", "SINCE", "APPROVAL", "REASON"), rows))


@customers.command()
@click.argument("customer_id", metavar="CUSTOMER", type=CODE)
@click.option("--reason", type=WORDS, required=True, help="For the trail.")
@click.pass_obj
def resume(world: World, customer_id: str, reason: str) -> None:
    """Let things run without a person again for a customer.

    Takes the role refund_manager.
    """
    with world.open_desk() as desk:
        order = world.order(reason)
        if not unless_refused(resume_automatic(desk, CustomerId(customer_id), order)):
            raise NotDone("not_found", f"Nothing is paused for {customer_id}.")
    click.echo(pairs([(customer_id, "no longer paused")]))


def _answer(world: World, approval_id: str, reason: str, *, right: bool) -> None:
    with world.open_desk() as desk:
        order = world.order(reason)
        review = unless_refused(answer_review(desk, ApprovalId(approval_id), order, right=right))
        with desk.store.transaction(write=False) as tx:
            pause = pauses.reason(tx, review.customer_id)
    rows: list[tuple[str, str]] = [(review.approval_id, review.state.value)]
    if pause is not None:
        rows.append((review.customer_id, f"nothing runs without a person: {pause}"))
    click.echo(pairs(rows))


def _read(desk: Desk, state: ReviewState) -> list[_Line]:
    found: list[_Line] = []
    with desk.store.transaction(write=False) as tx:
        after = ""
        while page := stored.page(tx, state, after, _PAGE):
            found += [_Line(review, _effect_of(tx, review)) for review in page]
            after = page[-1].approval_id
    return found


def _effect_of(tx: Tx, review: Review) -> ApprovalView | None:
    try:
        approval = approvals.get(tx, review.approval_id)
    except Corrupt:
        return None
    return None if approval is None else decisions.view(tx, approval)


def _cells(one: _Line) -> tuple[object, ...]:
    review, approval = one.review, None if one.effect is None else one.effect.approval
    about = ("damaged", "", "")
    if approval is not None:
        amount = "" if approval.amount is None else str(approval.amount)
        about = (approval.tool, amount, approval.order_id or "")
    return (
        review.approval_id,
        rfc3339(review.asked_at),
        review.why,
        *about,
        review.customer_id,
        review.actor_name or "",
        review.reason or "",
    )
