"""Answers under way at one replica, shown at the others, too."""

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

from agent.domain.ids import ConversationId, RunId
from agent.ports import Live
from bot.web.hub import Hub
from storage.hints import Hints

log = logging.getLogger(__name__)

# JSON in ASCII takes twelve bytes at most for a character, and a hint has less than 8,000.
_PIECE = 600
_JOIN_S = 2.0


class Afar(Live):
    """Shows an answer here and calls it out to the other replicas, piece by piece.

    Who misses a piece shows no more of that answer until it begins anew; the whole comes from the
    log. Nothing is called out again.
    """

    def __init__(self, hub: Hub, hints: Hints, replica: str) -> None:
        """Keep what is shown here, and under which name it is called out."""
        self._hub = hub
        self._hints = hints
        self._replica = replica
        # What was called out of each answer, and what was heard of those of others.
        self._told: dict[ConversationId, tuple[RunId, str]] = {}
        self._heard: dict[ConversationId, tuple[RunId, str]] = {}

    @override
    def show(self, conversation_id: ConversationId, run_id: RunId, so_far: str) -> None:
        """Show an answer so far, here at once."""
        self._hub.show(conversation_id, run_id, so_far)
        told_run, told = self._told.get(conversation_id, (run_id, ""))
        start = len(told) if told_run == run_id and so_far.startswith(told) else 0
        self._told[conversation_id] = (run_id, so_far)
        for at in range(start, len(so_far), _PIECE):
            self._call(conversation_id, run_id, at, so_far[at : at + _PIECE])

    @override
    def hide(self, conversation_id: ConversationId) -> None:
        """Show no more of it, here at once."""
        self._hub.hide(conversation_id)
        told = self._told.pop(conversation_id, None)
        if told is not None:
            self._call(conversation_id, told[0], 0, "")

    @property
    @override
    def is_over(self) -> bool:
        """Return whether this process is about to end."""
        return self._hub.is_over

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the other replicas while the block lasts."""
        over = threading.Event()
        thread = threading.Thread(
            target=self._hints.listen, args=(self.hear, over), name="hints", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(_JOIN_S)

    def hear(self, hint: str) -> None:
        """Show what another replica has called out."""
        replica, conversation, run, at, text = json.loads(hint)
        conversation_id, run_id = ConversationId(conversation), RunId(run)
        if replica == self._replica:
            return
        if not text:
            self._heard.pop(conversation_id, None)
            self._hub.hide(conversation_id)
            return
        heard_run, heard = self._heard.get(conversation_id, (run_id, ""))
        so_far = heard if heard_run == run_id else ""
        if at not in {0, len(so_far)}:
            return
        so_far = so_far[:at] + text
        self._heard[conversation_id] = (run_id, so_far)
        self._hub.show(conversation_id, run_id, so_far, is_far=True)

    def _call(self, conversation_id: ConversationId, run_id: RunId, at: int, text: str) -> None:
        try:
            self._hints.send(json.dumps([self._replica, conversation_id, run_id, at, text]))
        except Exception:
            # The answer goes on: it is stored in the end, or is not, by whoever makes it.
            log.warning("other replicas do not hear of %s", conversation_id, exc_info=True)
