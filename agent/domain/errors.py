"""The error tree; a leaf says who acts next.

DeskError
├── InvalidInput        the sender mends the value: names the field and what is wrong
│   └── InvalidPayload  the proposer mends the payload
├── Corrupt             nobody retries: on-call is told, the row is never executed
├── FenceLost           the worker stops: somebody else holds the conversation
├── Leaving             the worker gives the turn back: the process is about to end
├── ModelUnavailable    the run is retried later; the customer is told so
└── Unheard             the model ends: nobody waits for the rest of its answer
"""


class DeskError(Exception):
    """Root of every error the desk raises on purpose."""


class InvalidInput(DeskError):
    """A value from outside is not acceptable; `field` names it, `str()` says why."""

    def __init__(self, field: str, problem: str) -> None:
        """Keep the field's name apart from the sentence."""
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InvalidPayload(InvalidInput):
    """A payload cannot be bound: duplicate keys, floats, lone surrogates, too large."""


class Corrupt(DeskError):
    """A stored row does not validate when read back; it is never executed."""

    def __init__(self, approval_id: str, problem: str) -> None:
        """Keep the row's id apart from what is wrong with it."""
        super().__init__(f"approval {approval_id}: {problem}")
        self.approval_id = approval_id


class FenceLost(DeskError):
    """The conversation's lease was taken over; nothing more may be appended."""


class Leaving(DeskError):
    """The process is about to end: whoever comes next makes this answer."""


class ModelUnavailable(DeskError):
    """The chat model gave no usable answer in the time allowed."""


class Unheard(DeskError):
    """Nobody waits for the rest of an answer; whoever makes it ends at once."""
