"""Naming the user group of a role, so that everybody in it is notified."""

import re
from collections.abc import Mapping

from agent.domain.roles import Role, Tier
from bot.slack.blocks import Block, Row, group_mention, word
from bot.slack.text import visible
from storage import people
from storage.transaction import Tx

# Slack's id of a role's user group, or where that is not known, its handle in words.
Groups = Mapping[Role, Block]
_GROUP_ID = re.compile(r"S[A-Z0-9]{2,32}")
_SOURCE = "slack:"
_IN_WORDS = {
    Role.REFUND_APPROVER: "refund approvers",
    Role.REFUND_MANAGER: "refund managers",
    Role.ONCALL: "people on call",
    Role.SUPPORT: "support agents",
}


def read_groups(tx: Tx) -> Groups:
    """Return how to name each role that comes from a user group, as it was last seen."""
    found: dict[Role, Block] = {}
    for roster in people.rosters_of(tx):
        handle = roster.source.removeprefix(_SOURCE)
        known = roster.group_id is not None and _GROUP_ID.fullmatch(roster.group_id)
        named = (
            group_mention(roster.group_id or "") if known else word(f"@{visible(handle)}", "bold")
        )
        found.setdefault(roster.role, named)
    return found


def naming(groups: Groups, *roles: Role) -> Row:
    """Return the groups of the roles for the beginning of a line; in words where there is none."""
    named: Row = []
    for role in dict.fromkeys(roles):
        named += [groups.get(role) or word(_IN_WORDS[role], "bold"), word(" ")]
    return named


def of_tier(tier: Tier) -> tuple[Role, ...]:
    """Return the roles whose people decide in a tier, those it cannot do without first."""
    return (tier.role, tier.floor())
