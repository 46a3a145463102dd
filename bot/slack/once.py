"""Each delivery of Slack is worked on once, whichever connection or address it comes through."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from slack_bolt import Ack, BoltResponse

from agent.desk import Desk
from agent.steps.repeat import Act, recall, remember
from bot.slack.acts import act_of
from bot.slack.payloads import Body

# Slack waits three seconds for the answer to the second delivery too.
_WAIT_S = 2.0
_OK = 200


class StillAtWork(Exception):
    """The same delivery is worked on this very moment; Slack has to bring it again."""


class Once:
    """Looks before the work, and keeps the answer when the work is committed."""

    def __init__(self, desk: Desk, wait_s: float = _WAIT_S) -> None:
        """Keep the desk; a second delivery waits so many seconds for the answer to the first."""
        self._desk = desk
        self._wait_s = wait_s
        self._under_way: set[str] = set()
        self._changed = threading.Condition()

    def answer(self, body: Body, work: Callable[[], BoltResponse]) -> BoltResponse:
        """Return what `work` answers to a delivery, or what it answered when that came before.

        Only an acknowledgement is kept: what failed may be tried again. Raises StillAtWork, and
        whatever `work` raises.
        """
        act = act_of(body)
        if act is None:
            return work()
        with self._alone(act.key):
            kept = recall(self._desk, act.key)
            if kept is not None:
                return BoltResponse(status=_OK, body=kept)
            return self._first(act, work)

    def _first(self, act: Act, work: Callable[[], BoltResponse]) -> BoltResponse:
        response = work()
        if response.status == _OK:
            remember(self._desk, act, response.body)
        return response

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        with self._changed:
            if not self._changed.wait_for(lambda: key not in self._under_way, self._wait_s):
                raise StillAtWork
            self._under_way.add(key)
        try:
            yield
        finally:
            with self._changed:
                self._under_way.discard(key)
                self._changed.notify_all()


def acknowledged(listener: Callable[[Body, Ack], None], body: Body) -> BoltResponse:
    """Run a listener and return what it has acknowledged with."""
    ack = Ack()  # type: ignore[no-untyped-call]  # Bolt leaves it without types
    listener(body, ack)
    if ack.response is None:
        raise RuntimeError("the listener has not acknowledged")
    return ack.response
