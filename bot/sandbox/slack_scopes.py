"""Which scopes a call of the Web API needs; what the app was installed with may be less."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

_READS = ("channels:read", "groups:read", "im:read", "mpim:read")
_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")

# One of these is enough: which of them it has to be depends on the kind of channel.
NEEDED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "auth.test": (),
        "chat.delete": ("chat:write",),
        "chat.getPermalink": (),
        "chat.postEphemeral": ("chat:write",),
        "chat.postMessage": ("chat:write",),
        "chat.update": ("chat:write",),
        "conversations.history": _HISTORY,
        "conversations.info": _READS,
        "conversations.list": _READS,
        "conversations.members": _READS,
        "conversations.open": ("channels:manage", "groups:write", "im:write", "mpim:write"),
        "conversations.replies": _HISTORY,
        "usergroups.list": ("usergroups:read",),
        "usergroups.users.list": ("usergroups:read",),
        "users.info": ("users:read",),
        "users.list": ("users:read",),
        "users.lookupByEmail": ("users:read.email",),
        "views.open": (),
        "views.publish": (),
        "views.push": (),
        "views.update": (),
    }
)
ALL_SCOPES = tuple(sorted({"commands", *(scope for any_of in NEEDED.values() for scope in any_of)}))


def lacks(method: str, granted: Collection[str]) -> bool:
    """Tell whether a call needs a scope and the app has none that would do."""
    any_of = NEEDED[method]
    return bool(any_of) and not set(any_of) & set(granted)
