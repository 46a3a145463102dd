"""`agent pending ask|revoke|settle|ask-again`: what people do beside deciding a request."""

import click

from agent.domain.approvals import EvidenceKind, Status
from agent.domain.asking import Question
from agent.domain.asks import AskedOf
from agent.domain.ids import ApprovalId
from agent.steps import ask as asking_first
from agent.steps import ask_again as asking
from agent.steps import revoke as revoking
from agent.steps.settlement import Settlement, settle_unknown
from bot.cli_describe import describe, describe_ask
from bot.cli_text import pairs
from bot.cli_words import find, follow
from bot.cli_work import carry_on
from bot.cli_world import CODE, WORDS, World, unless_refused
from storage import asks

_OUTCOME = click.Choice([Status.EXECUTED.value, Status.FAILED.value])
_EVIDENCE = click.Choice([kind.value for kind in EvidenceKind])
_ASKED_OF = click.Choice([one.value for one in AskedOf])
_request = click.argument("request_id", metavar="ID", type=CODE)


@click.command()
@_request
@click.option("--of", "asked_of", type=_ASKED_OF, required=True, help="Whom you ask.")
@click.option("--question", type=WORDS, required=True, help="The customer reads it, if asked.")
@click.pass_obj
def ask(world: World, request_id: str, asked_of: str, question: str) -> None:
    """Ask about a request that waits, before you decide.

    The customer is asked in their chat and is told the deadline; their next message is the
    answer. What the agent answers, the customer does not see. Nothing else changes. Takes the
    role of the request's tier; `agent pending show` has the answer.
    """
    with world.open_desk() as desk:
        sight = find(desk, request_id)
        named = ApprovalId(request_id) if sight is None else sight.approval.id
        wanted = Question(AskedOf(asked_of), question)
        asked = unless_refused(asking_first.ask(desk, named, wanted, world.order("")))
        carry_on(world, desk, asked.run_id)
        with desk.store.transaction(write=False) as tx:
            click.echo(pairs(describe_ask(asks.get(tx, asked.id))))


@click.command()
@_request
@click.option("--reason", type=WORDS, required=True, help="The customer reads it.")
@click.pass_obj
def revoke(world: World, request_id: str, reason: str) -> None:
    """Take an approval back before it is carried out.

    What has been sent cannot be taken back. Takes the role of the request's tier.
    """
    with world.open_desk() as desk:
        sight = find(desk, request_id, frozenset({Status.APPROVED}))
        named = ApprovalId(request_id) if sight is None else sight.approval.id
        revoked = unless_refused(revoking.revoke(desk, named, world.order(reason)))
        click.echo(pairs([("revoked", revoked.id)]))
        follow(world, desk, revoked)


@click.command()
@_request
@click.option("--outcome", type=_OUTCOME, required=True, help="What became of it.")
@click.option("--evidence", type=_EVIDENCE, required=True, help="What you have seen.")
@click.option("--reference", type=WORDS, required=True, help="Which record, e.g. its id there.")
@click.option("--note", type=WORDS, default="", help="For the trail.")
@click.pass_obj
def settle(
    world: World, request_id: str, outcome: str, evidence: str, reference: str, note: str
) -> None:
    """Say what became of an unknown outcome, with evidence.

    Only 23 hours after the first try and after two looks in vain at the provider's book, which is
    asked once more: its own record always wins. Of an e-mail nobody can be asked, so it can be
    settled at once. Takes the role refund_manager.
    """
    settlement = Settlement(outcome == Status.EXECUTED.value, EvidenceKind(evidence), reference)
    with world.open_desk() as desk:
        sight = find(desk, request_id, frozenset({Status.UNKNOWN}))
        if sight is not None:
            click.echo(describe(sight))
        named = ApprovalId(request_id) if sight is None else sight.approval.id
        settled = unless_refused(settle_unknown(desk, named, settlement, world.order(note)))
        by_word = "settled_by" in (settled.result or {})
        how = "by your word" if by_word else "by the provider's own record"
        click.echo(pairs([("settled", how if settled.status is not Status.UNKNOWN else "not yet")]))
        follow(world, desk, settled)


@click.command("ask-again")
@_request
@click.option("--reason", type=WORDS, default="", help="For the trail.")
@click.pass_obj
def ask_again(world: World, request_id: str, reason: str) -> None:
    """Put what went stale or expired before people once more.

    A new request with the same payload, a new deadline and the facts of today; people decide it
    whatever its amount. Takes the role of the request's tier.
    """
    with world.open_desk() as desk:
        sight = find(desk, request_id, frozenset({Status.STALE, Status.EXPIRED}))
        named = ApprovalId(request_id) if sight is None else sight.approval.id
        new = unless_refused(asking.ask_again(desk, named, world.order(reason)))
        click.echo(pairs([("asked again", f"{new.id} instead of {named}")]))
        follow(world, desk, new)
