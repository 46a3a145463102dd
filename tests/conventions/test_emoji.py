"""Every emoji that the desk posts has its sign on the sandbox's page, and it is the same one."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.conventions.sources import ROOT, Source, parse, sources

_PAGE = ROOT / "bot/sandbox/static/js/emoji.js"
_ENTRY = re.compile(r'^  "?([a-z0-9_+-]+)"?: "([^"]+)",$', re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]{2,}")


def named(source: Source) -> Iterator[tuple[str, str | None]]:
    """Yield each emoji's name, with the sign that stands right behind it, if one does."""
    for node in source.walk():
        match node:
            case ast.Call(func=ast.Name(id="emoji"), args=[ast.Constant(value=str(name))]):
                yield name, None
            case ast.Tuple(elts=parts) | ast.Call(args=parts):
                texts = [str(p.value) if isinstance(p, ast.Constant) else "" for p in parts]
                yield from (pair for pair in pairwise(texts) if _is_pair(*pair))
            case _:
                pass


def _is_pair(name: str, sign: str) -> bool:
    return _NAME.fullmatch(name) is not None and 0 < len(sign) <= 2 and not sign.isascii()


def test_the_page_knows_every_emoji_of_the_desk() -> None:
    signs = dict(_ENTRY.findall(_PAGE.read_text("utf-8")))
    used = {pair for s in sources() if s.under("bot/slack") for pair in named(s)}
    assert ("hourglass_flowing_sand", "⏳") in used
    wrong = {name: sign for name, sign in used if signs.get(name) != (sign or signs.get(name, ""))}
    assert wrong == {}


def test_names_are_read_from_the_source() -> None:
    text = 'emoji("eyes"); x = {A: ("bell", "🔔")}; Look("fire", "🔥", "hot"); f("a b", "ä")'
    assert sorted(named(parse("x.py", text)), key=str) == [
        ("bell", "🔔"),
        ("eyes", None),
        ("fire", "🔥"),
    ]
