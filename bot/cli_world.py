"""What every command is given, how it says no, and the words it takes from the command line."""

import re
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, TypeVar

import click
from typing_extensions import override

from agent.desk import Desk
from agent.domain.decision import Refused
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.roles import Channel, Identity
from agent.steps.permission import Order
from agent.steps.verify import Witness
from bot.cli_text import visible
from bot.findings import Finding
from storage.breaker import BreakerMissing

_Done = TypeVar("_Done")

_CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Control characters and halves of surrogate pairs.
_NO_TEXT = frozenset({"Cc", "Cs"})


@dataclass(frozen=True, slots=True)
class World:
    """The way in to everything else, wired by app.py.

    `open_desk` yields a desk over the migrated database, alive until the block ends; `upgrade`
    migrates the database and returns its revision; `os_user` is who types; `pause` waits for a
    running desk, in seconds; `witness` returns what proves the trail's signed heads; `public_url`
    returns where other people's machines reach the desk, if that is set; `checkup` looks at all
    that the desk stands on, and waits so many seconds for a click if it is given some.
    """

    open_desk: Callable[[], AbstractContextManager[Desk]]
    upgrade: Callable[[], str]
    os_user: str
    pause: Callable[[float], None] = time.sleep
    witness: Callable[[], Witness] = Witness
    public_url: Callable[[], str | None] = lambda: None
    checkup: Callable[[float | None], Iterator[Finding]] = lambda _wait_s: iter(())

    def identity(self) -> Identity:
        """Return how the desk knows the person who types."""
        return Identity("cli", self.os_user)

    def order(self, reason: str) -> Order:
        """Return what the person who types wants done, and why."""
        return Order(self.identity(), Channel.CLI, reason)


class NotDone(click.ClickException):
    """The command ends without what was asked: `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code = code

    @override
    def show(self, file: IO[str] | None = None) -> None:
        """Write one line to standard error."""
        click.echo(f"{self.code}: {visible(self.message)}", file=file, err=file is None)


def unless_refused(answer: _Done | Refused) -> _Done:
    """Return what a step has done; raises NotDone with its own words when it refused."""
    if isinstance(answer, Refused):
        raise NotDone(answer.code.value, answer.message)
    return answer


class Root(click.Group):
    """The group of all commands, which turns the desk's own errors into `NotDone`."""

    @override
    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was typed."""
        try:
            return super().invoke(ctx)
        except InvalidInput as wrong:
            raise NotDone("invalid", str(wrong)) from wrong
        except Corrupt as corrupt:
            raise NotDone("corrupt", str(corrupt)) from corrupt
        except BreakerMissing as missing:
            raise NotDone("breaker_missing", str(missing)) from missing


class Code(click.ParamType[str]):
    """An id or a hash: letters, digits, `_` and `-`."""

    name = "text"

    @override
    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word as it was typed."""
        if not _CODE.fullmatch(value):
            self.fail(f"'{visible(value[:64])}' is not an id or a hash", param, ctx)
        return value


class Words(click.ParamType[str]):
    """One line of text for people: no control characters, no halves of characters."""

    name = "text"

    @override
    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the line without blanks around it."""
        text = value.strip()
        if any(unicodedata.category(char) in _NO_TEXT for char in text):
            self.fail("holds characters that are no text", param, ctx)
        return text


CODE, WORDS = Code(), Words()
