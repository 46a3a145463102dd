"""What a request's description says in states that no story of the other tests reaches."""

from datetime import timedelta
from typing import Any

from agent.domain.approvals import Approval, ApprovalView, Status
from bot.cli_describe import Sight, describe
from tests.support.builders import approval, email_approval
from tests.support.doubles import START


def lines(shown: Approval, **around: Any) -> dict[str, str]:
    """Return what is said by its name; the last line of a name counts."""
    view = ApprovalView(shown, (), "Ana", "ana@example.com", (), **around)
    found = [line.partition("  ") for line in describe(Sight(view, ())).splitlines()]
    return {name: words.strip() for name, _, words in found}


def test_an_unknown_email_is_a_persons_to_settle_at_once() -> None:
    shown = lines(email_approval(status=Status.UNKNOWN, attempts=1, first_sent_at=START))
    assert shown["looks"] == "the receiving side cannot be asked what became of it"
    assert shown["a person can"].startswith("say now what they have found out: agent pending")
    assert "sent again" not in shown


def test_an_unknown_that_is_set_aside_is_not_asked_by_itself() -> None:
    shown = lines(approval(status=Status.UNKNOWN, attempts=1, first_sent_at=None, wake_at=None))
    assert shown["looks"] == "0 in vain"
    assert "asked again" not in shown
    assert "a person can" not in shown


def test_what_the_provider_has_not_finished_is_followed_up() -> None:
    shown = lines(approval(status=Status.EXECUTED, wake_at=START + timedelta(hours=1)))
    assert shown["provider"] == "has accepted it but not finished; asked again 2026-11-29T13:00:00Z"
    assert "provider" not in lines(approval(status=Status.EXECUTED, wake_at=None))


def test_what_is_approved_says_until_when() -> None:
    use_by = START + timedelta(minutes=15)
    shown = lines(approval(status=Status.APPROVED, use_by=use_by), stopped=True)
    assert shown["use by"] == "2026-11-29T12:15:00Z"
    assert shown["stopped"].startswith("everything is stopped")
    assert "stopped" not in lines(approval(status=Status.APPROVED, use_by=use_by))


def test_a_tool_that_is_gone_is_shown_all_the_same() -> None:
    shown = lines(approval(tool="delete_account", status=Status.UNKNOWN, attempts=1))
    assert (shown["level"], shown["triggers"]) == ("high", "")
    assert shown["looks"] == "the receiving side cannot be asked what became of it"


def test_an_edit_back_to_the_proposal_changes_nothing() -> None:
    shown = lines(approval(edited_by=("act_ann",)))
    assert not [name for name in shown if name.startswith("changed")]
