"""`agent actor …`: who may do what at the desk."""

import click

from agent.desk import Desk
from agent.domain.ids import ActorId
from agent.domain.roles import Actor, Identity, Role
from agent.steps import people as steps
from agent.steps.people import Newcomer, add_actor, grant, new_token, revoke
from bot.cli_text import pairs, table, visible
from bot.cli_world import WORDS, NotDone, World
from storage import people

_HEADER = ("ID", "NAME", "KIND", "ACTIVE", "ROLES", "KNOWN AS")
_ROLE = click.Choice([role.value for role in Role])
_actor = click.argument("actor_name", metavar="ACTOR", type=WORDS)
_role = click.argument("role", type=_ROLE)
_slack = click.option(
    "--slack", type=WORDS, metavar="TEAM:USER", help="The ids of team and member."
)
_cli = click.option("--cli", type=WORDS, metavar="USER", help="The user of this machine.")
_customer = click.option(
    "--customer", type=WORDS, metavar="ID", help="The same person as a customer."
)


@click.group()
def actor() -> None:
    """Keep people, their roles and their tokens.

    ACTOR is an id (act_…) or a way in which the person is known: cli:USER, slack:TEAM:USER.
    """


@actor.command("list")
@click.pass_obj
def list_actors(world: World) -> None:
    """List everybody, and which accounts turned out to be the same person.

    Takes no role.
    """
    with world.open_desk() as desk, desk.store.transaction(write=False) as tx:
        everyone = [(one, people.merged_into(tx, one.id)) for one in people.everyone(tx)]
    click.echo(table(_HEADER, [_line(one, keeper) for one, keeper in everyone]))


@actor.command()
@click.argument("name", type=WORDS)
@click.option("--role", "roles", type=_ROLE, multiple=True)
@_slack
@_cli
@_customer
@click.pass_obj
def add(
    world: World,
    name: str,
    roles: tuple[str, ...],
    slack: str | None,
    cli: str | None,
    customer: str | None,
) -> None:
    """Add a person and print the id.

    --customer keeps them from deciding on their own refunds. Takes no role: it is for whoever
    runs the desk.
    """
    known_as = _identities(slack, cli, customer)
    newcomer = Newcomer(name, frozenset(Role(role) for role in roles), known_as)
    with world.open_desk() as desk:
        added = add_actor(desk, newcomer, world.identity())
    click.echo(added.id)


@actor.command()
@_actor
@_slack
@_cli
@_customer
@click.option("--yes", is_flag=True, help="Do not ask before two accounts become one person.")
@click.pass_obj
def link(
    world: World,
    actor_name: str,
    slack: str | None,
    cli: str | None,
    customer: str | None,
    *,
    yes: bool,
) -> None:
    """Let a further account lead to a person.

    So one person is one vote, through whichever door. Give one of the options. An account that it
    led to before becomes this person, with its roles and its votes: both are shown, and it asks.
    Takes no role: it is for whoever runs the desk.
    """
    given = _identities(slack, cli, customer)
    if len(given) != 1:
        raise click.UsageError("Give one of --slack, --cli and --customer.")
    with world.open_desk() as desk:
        before = _find(desk, actor_name)
        other = _known_as(desk, given[0])
        if other is not None and other.id != before.id and not yes:
            click.echo(table(_HEADER, [_line(before, None), _line(other, None)]))
            ask = f"Is {other.name} ({other.id}) the same person as {before.name} ({before.id})?"
            click.confirm(visible(f"{ask} This cannot be undone."), abort=True)
        now = steps.link(desk, before.id, given[0], world.identity())
        _say(now, f"is known as {given[0]}")
        for account in sorted(now.absorbed - before.absorbed):
            click.echo(pairs([(account, f"is {now.name} ({now.id}) from now on")]))


@actor.command("grant")
@_actor
@_role
@click.pass_obj
def give(world: World, actor_name: str, role: str) -> None:
    """Give a role.

    Takes no role: it is for whoever runs the desk.
    """
    with world.open_desk() as desk:
        found = _find(desk, actor_name)
        changed = grant(desk, found.id, Role(role), world.identity())
    _say(found, f"{role} granted" if changed else f"had {role} already")


@actor.command("revoke")
@_actor
@_role
@click.pass_obj
def take(world: World, actor_name: str, role: str) -> None:
    """Take away a role that was given here.

    A role that comes from a Slack user group ends in Slack. Takes no role: it is for whoever runs
    the desk.
    """
    with world.open_desk() as desk:
        found = _find(desk, actor_name)
        changed = revoke(desk, found.id, Role(role), world.identity())
    if not changed:
        raise NotDone("not_granted", f"{found.name} was not given {role} here.")
    _say(found, f"{role} revoked")


@actor.command()
@_actor
@click.pass_obj
def token(world: World, actor_name: str) -> None:
    """Print a new API token, this once.

    Earlier tokens of the actor end. Takes no role: it is for whoever runs the desk.
    """
    with world.open_desk() as desk:
        secret = new_token(desk, _find(desk, actor_name).id, world.identity())
    click.echo(secret)


def _find(desk: Desk, name: str) -> Actor:
    provider, _, subject = name.partition(":")
    with desk.store.transaction(write=False) as tx:
        found = people.get(tx, ActorId(name)) or people.find(tx, Identity(provider, subject))
    if found is None:
        raise NotDone("not_found", f"There is no actor {name}.")
    return found


def _known_as(desk: Desk, identity: Identity) -> Actor | None:
    with desk.store.transaction(write=False) as tx:
        return people.find(tx, identity)


def _say(found: Actor, change: str) -> None:
    click.echo(pairs([(found.id, f"{found.name}: {change}")]))


def _identities(slack: str | None, cli: str | None, customer: str | None) -> tuple[Identity, ...]:
    given = (("slack", slack), ("cli", cli), ("customer", customer))
    return tuple(Identity(provider, subject) for provider, subject in given if subject is not None)


def _line(one: Actor, keeper: ActorId | None) -> tuple[object, ...]:
    roles = sorted(f"{grant.role.value}({grant.source})" for grant in one.grants)
    # The subject of a token is a secret's hash, of use to nobody.
    known_as = sorted(str(i) if i.provider != "token" else "token" for i in one.identities)
    active = "yes" if one.active else "no"
    if keeper is not None:
        active = f"is {keeper}"
    return one.id, one.name, one.kind.value, active, ",".join(roles), ",".join(known_as)
