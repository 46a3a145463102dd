"""A fraud flag on a card: the score, the raw signals, and what the flag sets off."""

from bot.slack.blocks import Block, bullets, line, lines, rich, word
from bot.slack.proposals import Flag
from bot.slack.text import NO_LIMIT, clip, visible

# What `block` shows whole, so that it need not stand on the card twice.
SHOWN = frozenset({"score", "action", "signals"})


def block(flag: Flag, limit: int = NO_LIMIT) -> Block:
    """Return the whole flag; with a `limit` every signal is cut to it."""
    head = [
        word("The fraud flag", "bold"),
        word(" · score "),
        word(clip(visible(flag.score), limit), "bold"),
        word(" of 1"),
    ]
    signals = [line(word(clip(visible(signal), limit))) for signal in flag.signals]
    listed = [bullets(*signals)] if signals else []
    told = "Signals, in the agent's words:" if signals else "No signals are given."
    return rich(
        lines(head, [word(told)]),
        *listed,
        line(
            word("Action: "), word(flag.action.value, "code"), word(f" · triggers: {flag.triggers}")
        ),
    )
