"""Trigger ids: each opens one view, within three seconds of the click it came with."""

from collections.abc import Callable
from dataclasses import dataclass

TRIGGER_SECONDS = 3.0
_REMEMBERED = 1_000


class TriggerRefused(Exception):
    """A trigger id cannot be used; `code` is Slack's word for why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class _Trigger:
    user_id: str
    expires: float
    used: bool = False


class Triggers:
    """Trigger ids given out since the start; old ones are forgotten, newest thousand kept."""

    def __init__(self, monotonic: Callable[[], float], token: Callable[[], str]) -> None:
        self._monotonic = monotonic
        self._token = token
        self._given: dict[str, _Trigger] = {}

    def give(self, user_id: str) -> str:
        """Return a new trigger id for an interaction of this person."""
        trigger_id = f"{int(self._monotonic() * 1_000)}.{self._token()}"
        self._given[trigger_id] = _Trigger(user_id, self._monotonic() + TRIGGER_SECONDS)
        while len(self._given) > _REMEMBERED:
            del self._given[next(iter(self._given))]
        return trigger_id

    def owner(self, trigger_id: str) -> str:
        """Return whose trigger this is, or raise TriggerRefused: unknown, used, or too old."""
        trigger = self._given.get(trigger_id)
        if trigger is None:
            raise TriggerRefused("invalid_trigger_id")
        if trigger.used:
            raise TriggerRefused("exchanged_trigger_id")
        if self._monotonic() >= trigger.expires:
            raise TriggerRefused("expired_trigger_id")
        return trigger.user_id

    def spend(self, trigger_id: str) -> None:
        """Use up a trigger id that `owner` knows."""
        self._given[trigger_id].used = True
