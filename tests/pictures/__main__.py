"""Write the pictures' Block Kit JSON: one file a card, a line or a form."""

import json
import sys
from pathlib import Path

from bot.slack.blocks import Block
from tests.pictures.cards import messages
from tests.pictures.forms import views


def main(folder: Path) -> None:
    """Write everything into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Block] = {name: {"blocks": blocks} for name, blocks in messages().items()}
    drawn |= {f"form {name}": view for name, view in views().items()}
    for name, payload in drawn.items():
        path = folder / f"{name.replace(' ', '-')}.json"
        path.write_text(json.dumps(payload, ensure_ascii=False, indent=2), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
