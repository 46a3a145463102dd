"""What a card and an approval say of how much hangs on it, and of what it sets in motion."""

import pytest

from agent.domain.approvals import Approval
from agent.domain.fraud import TRIGGERS, FlagAction
from agent.tools.levels import Level, weigh
from tests.support.builders import approval, email_approval, flag_approval


@pytest.mark.parametrize(
    ("row", "level", "triggers"),
    [
        (approval(), Level.HIGH, "the payment provider pays the customer back"),
        (
            email_approval(),
            Level.MEDIUM,
            "the mail server delivers it; it cannot be called back",
        ),
        (approval(tool="unheard_of", payload={}, amount=None), Level.HIGH, ""),
    ],
    ids=["refund", "e-mail", "unknown tool"],
)
def test_a_request_is_weighed_by_its_tool(row: Approval, level: Level, triggers: str) -> None:
    weighed = weigh(row)
    assert (weighed.level, weighed.triggers) == (level, triggers)


@pytest.mark.parametrize(
    ("action", "level"), [(FlagAction.MONITOR, Level.LOW), (FlagAction.HOLD, Level.HIGH)]
)
def test_a_flag_names_what_its_action_triggers(action: FlagAction, level: Level) -> None:
    row = flag_approval()
    payload = row.payload | {"action": action.value}
    weighed = weigh(flag_approval(payload=payload))
    assert (weighed.level, weighed.triggers) == (level, TRIGGERS[action])
    assert weighed.triggers
