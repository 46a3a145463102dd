"""The outcome of a request reaches its run as an authoritative system message."""

import json
from datetime import datetime

from agent.domain.conversation import ChatMessage
from storage import runs
from storage.runs import Turn
from storage.transaction import Tx


def resume(tx: Tx, turn: Turn, now: datetime) -> None:
    """Append the outcome to the transcript, once; the tool's own result stays what it was."""
    if runs.is_marked(tx, turn.run_id, turn.row.key):
        return
    told = json.dumps(turn.row.body["told"], ensure_ascii=False)
    runs.append(tx, turn, now, ChatMessage("system", told, call_id=turn.row.key))


def is_heard(tx: Tx, turn: Turn) -> bool:
    """Tell whether the run heard this outcome as the very result of its call.

    So it is when a turn was driven again after a crash and found the row ended already.
    """
    result = runs.tool_result(tx, turn.run_id, str(turn.row.body["call_id"]))
    heard = {} if result is None else json.loads(result)
    return turn.row.body["outcome"] in {heard.get("status"), heard.get("error")}
