"""The widget's modules joined into the two scripts that travel: a page waits for one, not twelve.

What is written is what runs: the modules one after the other, in the order of their imports,
without comments and blanks. Each has names of its own at its top level (a test asks for it).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import rjsmin

FOLDER = Path(__file__).parent / "widget"
# What a page loads, and what comes when the panel is opened.
PAGE, PANEL = "desk.js", "panel.js"

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)


def served_texts() -> dict[str, str]:
    """Return the text of each file that is served, by its path."""
    return {
        PAGE: _joined(PAGE),
        # Whole in itself: it may be loaded hours later than the other, from a newer desk.
        PANEL: _joined(PANEL),
        **{f"locales/{path.name}": _dense(path) for path in sorted(FOLDER.glob("locales/*.json"))},
    }


def modules_of(name: str) -> tuple[str, ...]:
    """Return a module and everything it imports, each after what it needs."""
    return tuple(dict.fromkeys(_walk(name)))


def _walk(name: str) -> Iterator[str]:
    for found in _IMPORT.finditer(_script(name)):
        yield from _walk(found[1])
    yield name


def _joined(name: str) -> str:
    script = "".join(_IMPORT.sub("", _script(one)) for one in modules_of(name))
    return str(rjsmin.jsmin(script)) + "\n"


def _script(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def _dense(path: Path) -> str:
    return json.dumps(
        json.loads(path.read_text("utf-8")), ensure_ascii=False, separators=(",", ":")
    )
