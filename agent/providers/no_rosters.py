"""A desk without Slack: there is nobody to ask about roles."""

from typing_extensions import override

from agent.domain.roles import Identity
from agent.ports import Rosters, Unread


class NoRosters(Rosters):
    """Reads nothing; only roles that are granted by name count where others must be read."""

    @override
    def refresh(self, identity: Identity) -> Unread:
        return Unread(f"there is no Slack here to ask about {identity}")
