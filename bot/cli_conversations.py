"""`agent conversations …`: customers who need a person, answered from the terminal."""

import click

from agent.desk import Desk
from agent.domain.hand_offs import HandOff, Words
from agent.domain.ids import ConversationId
from agent.steps.attend import find_conversation, give_back, join, say
from bot.cli_text import json_text, pairs, table
from bot.cli_world import CODE, WORDS, World, unless_refused
from bot.shapes import hand_off_json, rfc3339
from storage import hand_offs

_PAGE = 200
_conversation = click.argument("reference", metavar="ID", type=CODE)


@click.group()
def conversations() -> None:
    """Answer customers who need a person.

    ID is the conversation's, or the last six characters of it.
    """


@conversations.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def list_conversations(world: World, *, as_json: bool) -> None:
    """List who needs a person or has one.

    Whoever waits longest first. Takes no role.
    """
    with world.open_desk() as desk, desk.store.transaction(write=False) as tx:
        found = hand_offs.still_open(tx, _PAGE)
    if as_json:
        click.echo(json_text([hand_off_json(one) for one in found]))
        return
    header = ("ID", "SINCE", "STATE", "WITH", "CUSTOMER", "WHY")
    click.echo(table(header, [_cells(one) for one in found]))


@conversations.command()
@_conversation
@click.option("--text", type=WORDS, required=True, help="What the customer reads.")
@click.pass_obj
def reply(world: World, reference: str, text: str) -> None:
    """Write to a customer.

    Whoever writes first answers there instead of the agent. Takes any role.
    """
    with world.open_desk() as desk:
        words = Words(text, desk.ids.new("msg"))
        said = unless_refused(say(desk, _meant(world, desk, reference), words, world.order("")))
    click.echo(pairs([*_rows(said.hand_off), ("message", said.message_id)]))


@conversations.command("join")
@_conversation
@click.pass_obj
def join_conversation(world: World, reference: str) -> None:
    """Answer a customer from now on.

    Instead of the agent, or of a colleague. Takes any role.
    """
    with world.open_desk() as desk:
        joined = unless_refused(join(desk, _meant(world, desk, reference), world.order("")))
    click.echo(pairs(_rows(joined)))


@conversations.command("give-back")
@_conversation
@click.pass_obj
def give_conversation_back(world: World, reference: str) -> None:
    """Let the agent answer a customer again.

    Takes any role.
    """
    with world.open_desk() as desk:
        ended = unless_refused(give_back(desk, _meant(world, desk, reference), world.order("")))
    click.echo(pairs(_rows(ended)))


def _meant(world: World, desk: Desk, reference: str) -> ConversationId:
    return unless_refused(find_conversation(desk, reference, world.order(""))).conversation_id


def _rows(hand_off: HandOff) -> list[tuple[str, str]]:
    return [
        ("conversation", hand_off.conversation_id),
        ("state", hand_off.state.value),
        ("with", hand_off.attended_name or ""),
    ]


def _cells(hand_off: HandOff) -> tuple[object, ...]:
    return (
        hand_off.conversation_id,
        rfc3339(hand_off.opened_at),
        hand_off.state.value,
        hand_off.attended_name or "",
        hand_off.body["customer"],
        hand_off.body["reason"],
    )
