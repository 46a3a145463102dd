"""The slash command: what was typed, read strictly, and what it can do; pure."""

from dataclasses import dataclass
from typing import TypeAlias

from bot.slack.blocks import Block, actions, bullets, context, line, ours, rich, section, word
from bot.slack.names import COMMAND
from bot.slack.text import clip, spoken, unescape, visible

_TYPED = 60
_CAN = (
    ("pending", "what waits for people, the most urgent first"),
    ("show ID", "one request, by its id, the last six characters of it, or an order"),
    ("mine", "what waits for you, and what you decided today"),
    ("handoffs", "who needs a person, or has one"),
    ("reply CONVERSATION TEXT", "write to a customer; the last six characters of the id will do"),
    ("stats", "how requests ended and how long they waited, today and in 7 days"),
    ("breaker", "whether automatic refunds run, and whether all is stopped"),
    ("help", "this list"),
)


@dataclass(frozen=True, slots=True)
class Pending:
    """What waits for anybody."""


@dataclass(frozen=True, slots=True)
class Show:
    """The request that is meant."""

    reference: str


@dataclass(frozen=True, slots=True)
class Mine:
    """What waits for the person who types, and what they decided today."""


@dataclass(frozen=True, slots=True)
class Stats:
    """The numbers."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """How the breaker and the stop switch stand."""


@dataclass(frozen=True, slots=True)
class HandOffs:
    """The customers who need a person, or have one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a customer; `reference` is the conversation that is meant."""

    reference: str
    text: str


@dataclass(frozen=True, slots=True)
class Help:
    """What there is; `unknown` is what was typed and not understood, None where help was meant."""

    unknown: str | None = None


Look: TypeAlias = Pending | Show | Mine | Stats | BreakerState | HandOffs | Help
Command: TypeAlias = Look | Reply
_ALONE: dict[str, Look] = {
    "handoffs": HandOffs(),
    "pending": Pending(),
    "mine": Mine(),
    "stats": Stats(),
    "breaker": BreakerState(),
    "help": Help(),
    "": Help(),
}


def read_command(typed: str) -> Command:
    """Return what was meant; whatever is not exactly one of the commands is answered by help."""
    words = unescape(typed).split()
    verb = words[0].lower() if words else ""
    # The rest as it was written, line breaks and all.
    said = spoken(typed).strip().split(maxsplit=2)
    if verb == "reply" and len(said) == len(("reply", "ID", "TEXT")):
        return Reply(said[1], said[2])
    if verb == "show" and len(words) == len(("show", "ID")):
        return Show(words[1])
    known = _ALONE.get(verb)
    return Help(unescape(typed).strip()) if known is None or len(words) > 1 else known


def help_blocks(unknown: str | None, buttons: list[Block]) -> list[Block]:
    """Return what the command can do, in words and as buttons."""
    told = [] if not unknown else [section(f"There is no “{clip(visible(unknown), _TYPED)}”.")]
    can = [
        line(word(f"{COMMAND} {words}", "code"), word(f"  {meaning}")) for words, meaning in _CAN
    ]
    return [
        *told,
        rich(bullets(*can)),
        actions("tools", *buttons),
        context(ours("Each is a button here and in this app's Home tab, too.")),
    ]


def help_words() -> str:
    """Return what the command can do for a notification."""
    return "\n".join(f"{COMMAND} {words}: {meaning}" for words, meaning in _CAN)
