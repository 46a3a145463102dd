"""Work that may take longer than Slack waits: answered in time, and finished in any case."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from threading import BoundedSemaphore
from typing import TypeVar

_LOG = logging.getLogger(__name__)

# Slack counts three seconds from the click to the answer, both ways included.
ANSWER_WITHIN_S = 1.8
_WORKERS, _CALLERS = 8, 4
# So many threads may wait for slow answers at once; the others stay free for quick ones.
_SEATS = 2
_SEAT_WITHIN_S = 0.3

_Answer = TypeVar("_Answer")


class Prompt:
    """Runs steps that ask shop or provider on the way, while somebody waits in Slack.

    What is wanted lies in a row meanwhile (agent/steps/kept.py): one that is cut off by the end of
    the process is taken up by another.
    """

    def __init__(self, within_s: float = ANSWER_WITHIN_S) -> None:
        """Wait at most `within_s` seconds for each piece of work; no thread starts before one."""
        self._within_s = within_s
        self._seats = BoundedSemaphore(_SEATS)
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="slack-prompt")
        self._calls = ThreadPoolExecutor(_CALLERS, thread_name_prefix="slack-call")

    def run(self, work: Callable[[], _Answer], late: Callable[[_Answer], None]) -> _Answer | None:
        """Return what `work` gives, or None when it takes too long: `late` is given it then.

        Raises what `work` raises in time; what it raises later is logged. While others wait for
        slow answers nobody waits long beside them.
        """
        future = self._pool.submit(work)
        if self._is_done(future):
            return future.result()
        future.add_done_callback(partial(_finish, late))
        return None

    def start(self, work: Callable[[], object]) -> Future[object]:
        """Let `work` run beside the answer to Slack; what it raises is logged."""
        return _unheard(self._pool.submit(work))

    def call(self, work: Callable[[], object]) -> Future[object]:
        """Let a call of Slack's API run beside the answer, whatever shop and provider do."""
        return _unheard(self._calls.submit(work))

    def _is_done(self, future: Future[_Answer]) -> bool:
        if not self._seats.acquire(timeout=_SEAT_WITHIN_S):
            return future.done()
        try:
            return bool(wait((future,), timeout=self._within_s).done)
        finally:
            self._seats.release()

    def close(self) -> None:
        """Wait for what is under way and take no more."""
        self._pool.shutdown()
        self._calls.shutdown()


def _unheard(future: Future[object]) -> Future[object]:
    future.add_done_callback(partial(_finish, _ignore))
    return future


def _ignore(_: object) -> None:
    """Take the answer of work that nobody waits for."""


def _finish(late: Callable[[_Answer], None], future: Future[_Answer]) -> None:
    try:
        late(future.result())
    except Exception:  # noqa: BLE001 - nobody waits for this thread any more
        _LOG.exception("work for somebody in Slack failed after its answer")
