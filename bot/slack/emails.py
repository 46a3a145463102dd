"""An e-mail on a card: who gets it, its whole text, and what an edit changed."""

import re
from difflib import unified_diff

from agent.domain.approvals import Approval
from bot.slack.blocks import Block, Row, changed, code_block, emoji, lines, rich, word
from bot.slack.proposals import Email
from bot.slack.text import NO_LIMIT, chunks, clip, visible

# What `blocks` shows whole, so that it need not stand on the card twice.
SHOWN = frozenset({"template", "to", "cc", "bcc", "subject", "body"})

_PIECE = 2_900
_ORDINARY = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_PUNYCODE = re.compile(r"@(.*\.)?xn--", re.IGNORECASE)


def blocks(
    approval: Approval, email: Email, own_address: str, limit: int = NO_LIMIT
) -> list[Block]:
    """Return the whole e-mail, each recipient marked by whether it is the customer's own address.

    `own_address` is empty where the shop knows none. With a `limit` every text is cut to it.
    """
    rows = [[word("The e-mail", "bold"), word(f" · {_origin(approval, email, limit)}")]]
    for label, addresses in (("To", email.to), ("Cc", email.cc), ("Bcc", email.bcc)):
        rows += _recipients(label, addresses, own_address, limit)
    rows.append([word("Subject: "), word(clip(visible(email.subject), limit), "bold")])
    rows.append([word(f"Text, {len(email.body):,} characters:")])
    text = clip(visible(email.body, lines=True), limit)
    return [rich(lines(*rows)), *(rich(code_block(piece)) for piece in chunks(text, _PIECE))]


def changes(before: Email, after: Email, limit: int = NO_LIMIT) -> tuple[list[Row], list[Block]]:
    """Return what an edit changed: rows of old and new, and the text's changed lines below them.

    The lines are marked `-` for the old and `+` for the new; both are empty where nothing differs.
    """
    pairs = [
        ("To", _joined(before.to), _joined(after.to)),
        ("Cc", _joined(before.cc), _joined(after.cc)),
        ("Bcc", _joined(before.bcc), _joined(after.bcc)),
        ("Subject", visible(before.subject), visible(after.subject)),
    ]
    rows = [
        changed(label, clip(old, limit), clip(new, limit))
        for label, old, new in pairs
        if old != new
    ]
    if before.body == after.body:
        return rows, []
    told = clip(_changed_lines(before.body, after.body), limit)
    return [*rows, [word("Text:")]], [code_block(told)]


def audience(email: Email) -> str:
    """Return who receives it in a few words, e.g. `dana@example.com and 2 more`; one line."""
    first, *others = email.recipients() or ["nobody"]
    return visible(first) if not others else f"{visible(first)} and {len(others)} more"


def _origin(approval: Approval, email: Email, limit: int) -> str:
    if email.template is not None:
        return f"template {clip(visible(email.template), limit)}, unchanged"
    if approval.is_edited:
        return "own text, changed by a person"
    return "own text, written by the agent"


def _recipients(label: str, addresses: list[str], own_address: str, limit: int) -> list[Row]:
    if not addresses:
        return [[word(f"{label}: nobody")]]
    return [
        [
            word(f"{label}: "),
            word(clip(visible(address), limit), "bold"),
            *_marks(address, own_address),
        ]
        for address in addresses
    ]


def _marks(address: str, own_address: str) -> list[Block]:
    """Return what a person should know of an address: whose it is, and what is odd about it."""
    odd = []
    if _PUNYCODE.search(address):
        odd.append("punycode, may look like another domain")
    if not _ORDINARY.fullmatch(address):
        odd.append("unusual characters")
    if own_address and address.casefold() != own_address.casefold():
        odd.append("not the customer's own address")
    if odd:
        return [word(" "), emoji("warning"), word(f" {', '.join(odd)}")]
    return [word(" · the customer's own address")] if own_address else []


def _joined(addresses: list[str]) -> str:
    return ", ".join(visible(address) for address in addresses) or "nobody"


def _changed_lines(before: str, after: str) -> str:
    """Return the changed lines with one unchanged line around; each line starts with its mark."""
    old, new = (visible(text, lines=True).split("\n") for text in (before, after))
    told: list[str] = []
    for text in list(unified_diff(old, new, n=1, lineterm=""))[2:]:
        if not text.startswith("@@"):
            told.append(f"{text[0]} {text[1:]}")
        elif told:
            told.append("…")
    return "\n".join(told)
