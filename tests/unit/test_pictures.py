"""The pictures' Block Kit JSON: all of it is what Slack takes, and every state is among it."""

import json
from pathlib import Path

from agent.domain.approvals import Status
from bot.sandbox.block_limits import check_message, check_view
from tests.pictures.__main__ import main
from tests.pictures.cards import messages
from tests.pictures.forms import views


def test_slack_takes_every_picture(tmp_path: Path) -> None:
    main(tmp_path)
    drawn = messages()
    for name, blocks in drawn.items():
        assert check_message(blocks) == [], name
    for name, view in views().items():
        assert check_view(view, "modal") == [], name
    written = {path.stem: json.loads(path.read_text("utf-8")) for path in tmp_path.iterdir()}
    assert len(written) == len(drawn) + len(views())
    assert written["refund-pending"] == {"blocks": drawn["refund pending"]}
    ways = {status.value for status in Status} - {"cancelled"} | {"withdrawn", "revoked"}
    for tool in ("refund", "email", "flag"):
        assert {f"{tool} {way}" for way in ways} <= drawn.keys()
