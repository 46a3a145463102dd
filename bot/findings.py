"""What a look at the desk's surroundings finds, one thing at a time, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How bad a finding is: only `failed` keeps the desk from its work."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `remedy` says in one sentence what to do, empty where all is well."""

    name: str
    state: State
    says: str
    remedy: str = ""


def fine(name: str, says: str) -> Finding:
    """Return that a thing is as it should be."""
    return Finding(name, State.OK, says)


def warning(name: str, says: str, remedy: str) -> Finding:
    """Return that the desk works, but not as well as it could."""
    return Finding(name, State.WARNING, says, remedy)


def failed(name: str, says: str, remedy: str) -> Finding:
    """Return that the desk cannot work like this."""
    return Finding(name, State.FAILED, says, remedy)


def skipped(name: str, says: str) -> Finding:
    """Return that a thing could not be looked at, or need not be."""
    return Finding(name, State.SKIPPED, says)
