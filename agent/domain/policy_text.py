"""The policy as a document; POLICY.md is this document of the shipped policy."""

import re
from collections.abc import Iterator, Sequence

from agent.domain.policy import Policy
from agent.domain.policy_sections import Table, Verbatim, policy_sections

_SPECIAL = re.compile(r"([\\`*<>|\[\]])")
_TICKS = re.compile(r"`+")


def policy_markdown(policy: Policy, changes: Sequence[str] = ()) -> str:
    """Return the document; `changes` are sentences on what the environment changed.

    Ends with one line feed.
    """
    lead = (
        "What the agent may do by itself, what waits for people and for whom, and what is "
        "refused. Made from the policy file by `agent policy show --format markdown`: change the "
        "file, then make this page anew."
    )
    version = (
        f"Version `{policy.version}`, a fingerprint of the whole policy that is stored with every "
        "request it judged."
    )
    parts = ["# The agent's policy", lead, version]
    if changes:
        parts.append("The environment changes the file:")
        parts.append("\n".join(f"- {_escaped(change)}" for change in changes))
    for section in policy_sections(policy):
        parts.append(f"## {_escaped(section.title)}")
        parts += [part for block in section.blocks for part in _markdown(block)]
    return "\n\n".join(parts) + "\n"


def _markdown(block: str | Table | Verbatim) -> Iterator[str]:
    match block:
        case Table(header=header, rows=rows):
            lines = [header, tuple("---" for _ in header), *map(_cells, rows)]
            yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Verbatim(name=name, lead=lead, text=text):
            longest = max((len(found) for found in _TICKS.findall(text)), default=0)
            fence = "`" * max(3, longest + 1)
            yield f"### {_escaped(name)}"
            yield _escaped(lead)
            yield f"{fence}text\n{text.rstrip()}\n{fence}"
        case _:
            yield block


def _cells(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_escaped(cell) or "-" for cell in row)


def _escaped(text: str) -> str:
    """Return text as Markdown shows it letter by letter, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
