"""A person at a terminal beside a story: runs `agent …` in this process."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

from click.testing import CliRunner, Result

from agent.steps.verify import NO_WITNESS, Witness
from bot.cli import World, cli
from tests.support.desk import Story


@dataclass
class Terminal:
    """A terminal of the user `user`.

    `pauses` are the waits of its commands, in seconds; `meanwhile` is what happens in each.
    `witness` is what proves the trail's heads.
    """

    story: Story
    user: str = "ana"
    pauses: list[float] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    witness: Witness = NO_WITNESS

    def run(self, *words: str, typed: str | bytes = "", code: int = 0) -> Result:
        """Run `agent` with these words and what is typed; fails for another exit code."""
        world = World(
            open_desk=lambda: nullcontext(self.story.desk),
            upgrade=lambda: "0001",
            os_user=self.user,
            pause=self._pause,
            witness=lambda: self.witness,
        )
        result = CliRunner().invoke(cli, words, input=typed, obj=world, catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.meanwhile()

    def json(self, *words: str) -> object:
        """Return the JSON that a command prints, and nothing else does it print."""
        result = self.run(*words)
        assert result.stderr == ""
        return json.loads(result.stdout)


def value(result: Result, name: str) -> str:
    """Return what stands behind a name in output of one `name  value` a line."""
    found = [line for line in result.stdout.splitlines() if line.startswith(f"{name}  ")]
    assert len(found) == 1, result.stdout
    return found[0].removeprefix(name).strip()
