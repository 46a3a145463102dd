"""A look at what keeps the trail from being cut unseen: the key, and the copy of the heads."""

import os
from collections import deque

from agent.domain.errors import InvalidInput
from agent.domain.heads import from_line, signature
from agent.providers.heads_file import HeadsFile
from bot.findings import Finding, failed, fine, warning
from bot.settings import Settings


def look(settings: Settings) -> Finding:
    """Look whether heads are signed, and whether their copy can be written and is of this key."""
    if settings.audit_key is None:
        remedy = "Set AUDIT_KEY to at least 32 random bytes and keep a copy of it elsewhere."
        return warning("audit key", "no signed heads: a cut end of the trail is not found", remedy)
    path = settings.audit_heads_file
    folder = path if path.is_file() else next(p for p in path.absolute().parents if p.exists())
    if not os.access(folder, os.W_OK):
        remedy = "Let AUDIT_HEADS_FILE be a file that the desk's user can write."
        return failed("audit key", f"{path} cannot be written", remedy)
    try:
        newest = deque(HeadsFile(path).lines(), maxlen=1)
        heads = [from_line(line) for line in newest]
    except (OSError, InvalidInput) as problem:
        remedy = "Run agent audit verify: the file may have been changed."
        return failed("audit key", f"the newest head in {path} cannot be read: {problem}", remedy)
    key = settings.audit_key.get_secret_value().encode()
    if any(head.signature != signature(key, head.body) for head in heads):
        remedy = "Set AUDIT_KEY to the key of before, or move the file away and keep it."
        return failed("audit key", f"the newest head in {path} is signed with another key", remedy)
    return fine("audit key", f"heads are signed, and copied to {path}")
