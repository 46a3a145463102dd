"""The model answers in a thread of its own, so that Stop is heard while the model says nothing."""

import threading
from dataclasses import dataclass
from time import monotonic

from agent.desk import Desk
from agent.domain.conversation import MAX_ANSWER_CHARACTERS, storable
from agent.domain.deadlines import TURN_LEASE
from agent.domain.errors import Leaving, ModelUnavailable, Unheard
from agent.ports import ChatAnswer, ChatModel, ChatRequest, Live
from storage import runs
from storage.runs import Turn

# The longest that a press of Stop goes unnoticed.
_LOOK_S = 0.25
# Words that come faster are shown together: nobody reads more often than this.
_GAP_S = 0.04
_RENEW_AFTER = TURN_LEASE / 3
# An abandoned answer ends at its next word, or when the model's time is up. While there are so many
# of those, no more are asked for: a model that is silent must not be asked without end.
_MOST_UNDER_WAY = 64
_PLACES = threading.BoundedSemaphore(_MOST_UNDER_WAY)


@dataclass(frozen=True, slots=True)
class Stopped:
    """The customer stopped the answer after these words, which may be none."""

    said: str


class _Generation:
    """One answer in the making; the thread that makes it is left to itself when abandoned."""

    def __init__(self, model: ChatModel, request: ChatRequest, places: threading.Semaphore) -> None:
        self._model, self._request, self._places = model, request, places
        self._changed = threading.Condition()
        self._said = ""
        self._answer: ChatAnswer | None = None
        self._failure: BaseException | None = None
        self._is_abandoned = False

    def start(self) -> None:
        if not self._places.acquire(blocking=False):
            raise ModelUnavailable("too many answers are under way")
        threading.Thread(target=self._run, name="generation", daemon=True).start()

    def wait(self, timeout_s: float, shown: str | None = None) -> str:
        """Return the words so far: at the end, after a time, or as there are others than shown."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over() or (shown is not None and self._said != shown), timeout_s
            )
            return self._said

    def result(self) -> ChatAnswer | None:
        """Return the answer, None while there is none; raises what the model raised."""
        with self._changed:
            if self._failure is not None:
                raise self._failure
            return self._answer

    def abandon(self) -> None:
        """Let the model end at its next word; nobody waits for it."""
        with self._changed:
            self._is_abandoned = True

    def _run(self) -> None:
        answer, failure = None, None
        try:
            answer = self._model.complete(self._request, self._hear)
        except BaseException as raised:  # noqa: BLE001 - whoever waits for the answer raises it
            failure = raised
        self._places.release()
        with self._changed:
            self._answer, self._failure = answer, failure
            self._changed.notify_all()

    def _hear(self, so_far: str) -> None:
        with self._changed:
            if self._is_abandoned:
                raise Unheard
            self._said = so_far
            self._changed.notify_all()

    def _is_over(self) -> bool:
        return self._answer is not None or self._failure is not None


def generate(
    desk: Desk,
    turn: Turn,
    request: ChatRequest,
    *,
    live: Live,
    is_stoppable: bool,
    places: threading.Semaphore = _PLACES,
) -> ChatAnswer | Stopped:
    """Let the model answer, show its words on `live` as they come, and keep the lease meanwhile.

    `places` is how many answers may be under way, abandoned ones counted. Raises ModelUnavailable,
    Leaving, and FenceLost when somebody else holds the conversation.
    """
    generation = _Generation(desk.model, request, places)
    generation.start()
    try:
        return _follow(desk, turn, generation, live=live, is_stoppable=is_stoppable)
    finally:
        generation.abandon()
        # Before the answer is stored, so that nothing of it is shown afterwards.
        live.hide(turn.conversation_id)


def _follow(
    desk: Desk, turn: Turn, generation: _Generation, *, live: Live, is_stoppable: bool
) -> ChatAnswer | Stopped:
    shown, looked_at, renewed_at = "", monotonic(), desk.clock.now()
    while (answer := generation.result()) is None:
        said = generation.wait(_LOOK_S, shown)
        if said != shown:
            shown = said
            live.show(turn.conversation_id, turn.run_id, shown_text(said))
            generation.wait(_GAP_S)
        if desk.live.is_over:
            raise Leaving
        if monotonic() - looked_at < _LOOK_S:
            continue
        looked_at, now = monotonic(), desk.clock.now()
        is_due = now - renewed_at >= _RENEW_AFTER
        renewed_at = now if is_due else renewed_at
        if _is_stopped(desk, turn, is_due=is_due) and is_stoppable:
            return Stopped(shown_text(generation.wait(0)).strip())
    return answer


def shown_text(said: str) -> str:
    """Return words as they can be shown and stored, and no more of them than an answer holds."""
    return storable(said)[:MAX_ANSWER_CHARACTERS]


def _is_stopped(desk: Desk, turn: Turn, *, is_due: bool) -> bool:
    """Tell whether the customer asked to stop; where it is due, the lease is renewed."""
    with desk.store.transaction(write=is_due) as tx:
        if is_due:
            runs.hold(tx, turn, desk.clock.now() + TURN_LEASE)
        return runs.is_stopped(tx, turn)
