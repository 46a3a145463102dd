"""What is mounted beneath the desk's own routes, such as the demo page at `/`."""

from starlette.datastructures import URLPath
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import Receive, Scope, Send
from typing_extensions import override


class Beneath(BaseRoute):
    """A mount that answers no path of the routes above it, whatever the method.

    So a wrong method on a route is answered 405, and not 404 by a page that has no such file.
    """

    def __init__(self, mount: Mount, above: tuple[BaseRoute, ...]) -> None:
        """Keep the mount and the routes that come first."""
        self._mount, self._above = mount, above

    @override
    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match as the mount does, unless the path is taken by a route above."""
        if any(route.matches(scope)[0] is not Match.NONE for route in self._above):
            return Match.NONE, {}
        return self._mount.matches(scope)

    @override
    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        """Return the path of a route inside the mount."""
        return self._mount.url_path_for(name, **path_params)

    @override
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to what is mounted."""
        await self._mount.handle(scope, receive, send)
