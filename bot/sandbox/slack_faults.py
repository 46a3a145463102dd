"""Failures that a tester orders for the next calls of a Web API method."""

from collections import defaultdict, deque
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Fault:
    """How the next `times` calls of a method go wrong.

    `error` answers 200 with that code, `status` answers that HTTP status; both without any effect
    unless the call has `landed` before it failed. With neither, the call takes effect and its
    answer is `delay_s` late, as when a post lands and nobody hears of it. `retry_after` is in
    seconds.
    """

    error: str | None = None
    status: int | None = None
    times: int = 1
    retry_after: int | None = None
    delay_s: float = 0.0
    landed: bool = False

    @property
    def fails(self) -> bool:
        """Whether the call is answered with a failure instead of being carried out."""
        return self.error is not None or self.status is not None


class Faults:
    """Ordered failures per method, first ordered first used; they do not survive the process."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Fault]] = defaultdict(deque)

    def order(self, method: str, fault: Fault) -> None:
        """Let the next `fault.times` calls of `method` go wrong, after those already ordered."""
        self._waiting[method].append(fault)

    def waiting(self) -> list[tuple[str, Fault]]:
        """List what has been ordered and not been used up, by method in order."""
        return [(method, fault) for method, faults in self._waiting.items() for fault in faults]

    def forget(self) -> None:
        """Let no further call go wrong."""
        self._waiting.clear()

    def take(self, method: str) -> Fault | None:
        """Return how this call of `method` goes wrong, and count it."""
        waiting = self._waiting[method]
        if not waiting:
            return None
        fault = waiting.popleft()
        if fault.times > 1:
            waiting.appendleft(replace(fault, times=fault.times - 1))
        return fault
