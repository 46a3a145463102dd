"""Who of the team is asking: an API token leads to an actor."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from agent.domain.roles import Actor, ActorKind, Identity, Role
from agent.steps.receive import token_hash
from bot.web.context import Context
from bot.web.problems import Problem
from storage import people

_bearer = HTTPBearer(auto_error=False, description="An API token of the desk.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


@dataclass(frozen=True, slots=True)
class Staff:
    """A known, active person, and the identity that the token proves."""

    identity: Identity
    actor: Actor


def unauthenticated(detail: str) -> Problem:
    """Return the answer to a missing or bad token."""
    return Problem(401, "unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})


def _known(context: Context, credentials: Credentials) -> Staff:
    if credentials is None:
        raise unauthenticated("Send an API token: Authorization: Bearer …")
    identity = Identity("token", token_hash(credentials.credentials))
    with context.desk.store.transaction(write=False) as tx:
        actor = people.find(tx, identity)
    if actor is None or not actor.active:
        raise unauthenticated("The desk does not know this token.")
    return Staff(identity, actor)


Known = Annotated[Staff, Depends(_known)]


async def _helper(staff: Known) -> Staff:
    # Any role will do, however old its proof: reading pays nothing.
    if staff.actor.kind is ActorKind.GUEST or not staff.actor.roles():
        raise Problem(403, "not_allowed", "Reading needs a role at the desk.")
    return staff


# Whoever may answer customers, and so may read who needs a person.
Helper = Annotated[Staff, Depends(_helper)]


async def _reader(staff: Helper) -> Staff:
    # Who answers customers alone has nothing to do with what others decide.
    if staff.actor.roles() == {Role.SUPPORT}:
        raise Problem(403, "not_allowed", "Reading needs a role that decides, or on call.")
    return staff


Reader = Annotated[Staff, Depends(_reader)]
