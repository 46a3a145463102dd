"""`agent policy`: shown in three forms, refused with its line, and tried on the past."""

import json
import re
from pathlib import Path

import pytest

from agent.domain.approvals import Status
from agent.domain.policy_text import policy_markdown
from bot.settings import SHIPPED_POLICY, Settings, load_policy, load_settings
from storage.transaction import Store
from tests.story.orders import owner_of
from tests.support.builders import POLICY_FILE, policy
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal, value

SHIPPED = POLICY_FILE.read_text("utf-8")


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    return tell_story(store, clock, ids)


@pytest.fixture
def terminal(story: Story) -> Terminal:
    return Terminal(story)


def saved(folder: Path, old: str = "", new: str = "") -> Path:
    file = folder / "other.yml"
    assert old in SHIPPED
    file.write_text(SHIPPED.replace(old, new, 1), "utf-8")
    return file


def ask(story: Story, amount: str, order: str) -> None:
    story.asks_refund(story.opens_chat(owner_of(story, order)), amount, order)
    story.clock.advance(seconds=1)


# --- show ----------------------------------------------------------------------------------------


def test_the_policy_is_shown_as_tables(terminal: Terminal) -> None:
    shown = terminal.run("policy", "show")
    assert value(shown, "version") == policy().version
    assert value(shown, "file") == str(SHIPPED_POLICY)
    assert "environment" not in shown.stdout
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "Refund (issue_refund) one refund in USD exactly 50.00 USD 50.01 USD" in lines
    tier = "Refund (issue_refund) over 500.00 USD up to 2,000.00 USD one refund manager it expires"
    assert tier in lines
    assert "too_many_open 5 requests of the customer wait for people already" in lines


def test_what_the_environment_changed_is_shown(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = saved(tmp_path, 'auto_limit: {USD: "50.00"}', 'auto_limit: {EUR: "40.00"}')
    monkeypatch.setenv("POLICY_FILE", str(file))
    monkeypatch.setenv("REFUND_AUTO_LIMIT", "75")
    monkeypatch.setenv("CONFIDENCE_MIN", "0.8")
    monkeypatch.setenv("MAX_REVISIONS", "3")
    changes = [
        "REFUND_AUTO_LIMIT sets refunds.auto_limit.USD to 75.00; the file says nothing",
        "CONFIDENCE_MIN sets refunds.confidence_min to 0.8; the file says 0.90",
        "MAX_REVISIONS sets max_revisions to 3; the file says so too",
    ]
    shown = terminal.run("policy", "show").stdout.splitlines()
    assert shown[1] == f"file         {file}"
    assert [line.removeprefix("environment  ") for line in shown[2:5]] == changes
    assert "75.01 USD" in "\n".join(shown)
    written = terminal.run("policy", "show", "--format", "markdown").stdout
    assert written == policy_markdown(load_policy(load_settings()), changes)
    content = terminal.json("policy", "show", "--format", "json")
    assert isinstance(content, dict)
    assert content["environment"][0] == {
        "name": "REFUND_AUTO_LIMIT",
        "entry": "refunds.auto_limit.USD",
        "value": "75.00",
        "file_value": None,
    }
    assert content["policy"]["refunds"]["auto_limit"] == {"EUR": "40.00", "USD": "75.00"}
    assert content["version"] == load_policy(load_settings()).version


def test_the_shipped_policy_is_written_as_policy_md(terminal: Terminal) -> None:
    written = terminal.run("policy", "show", "--format", "markdown").stdout
    assert written == policy_markdown(policy())


def test_a_wrong_policy_is_refused_with_its_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = saved(tmp_path, "  max_refunds: 5", "  max_refund: 5")
    line = SHIPPED[: SHIPPED.index("  max_refunds: 5")].count("\n") + 1
    told = f"line {line}: breaker.max_refund: there is no such entry; did you mean max_refunds?\n"
    refused = terminal.run("policy", "try", str(file), code=1)
    assert refused.stderr.startswith(f"invalid: POLICY_FILE: {file}, line ")
    assert refused.stderr.endswith(told)
    monkeypatch.setenv("POLICY_FILE", str(file))
    assert terminal.run("policy", "show", code=1).stderr.endswith(told)
    assert refused.stdout == ""


# --- try -----------------------------------------------------------------------------------------


def test_a_policy_is_tried_on_the_past(story: Story, terminal: Terminal, tmp_path: Path) -> None:
    ask(story, "60.00", "ORD-1001")
    ask(story, "50.00", "ORD-1008")
    first = story.only(Status.PENDING)
    file = saved(tmp_path, 'auto_limit: {USD: "50.00"}', 'auto_limit: {USD: "100.00"}')
    done = terminal.run("policy", "try", str(file))
    line, *totals = done.stdout.splitlines()
    assert line == (
        f"{first.id} 2026-11-29 issue_refund 60.00 USD: waited (amount_over_limit) -> would run"
    )
    assert totals[0].startswith("policy ")
    assert value(done, "judged") == "2"
    assert value(done, "same") == "1  50.00 USD"
    assert value(done, "would run") == "1  60.00 USD"
    assert value(done, "would wait") == "0"
    assert value(done, "days") == "30"
    notes = [line for line in totals if line.startswith("note ")]
    assert len(notes) == 5
    assert "judged alone, as things stood at its moment" in notes[0]
    assert story.only(Status.PENDING) == first


def test_each_kind_of_difference_has_its_words(
    store: Store, clock: HandClock, ids: CountingIds, tmp_path: Path
) -> None:
    few = policy(max_open_approvals=1, breaker={"max_refunds": 1})
    story = tell_story(store, clock, ids, few)
    ask(story, "600.00", "ORD-1005")
    ask(story, "5.00", "ORD-1001")
    ask(story, "6.00", "ORD-1008")
    ask(story, "61.00", "ORD-1005")
    story.proposes(story.opens_chat("cus_clara"), story.flag_call("0.3", "call_f"))
    file = tmp_path / "other.yml"
    changed = SHIPPED.replace('{up_to: "2000.00", role: refund_manager}', "{role: oncall}", 1)
    changed = re.sub(r"      - \{role: refund_manager, approvals: 2.*\n", "", changed, count=1)
    changed = changed.replace('auto_score_max: "0.80"', 'auto_score_max: "0.1"')
    file.write_text(changed.replace('{USD: "50.00"}', '{USD: "4.00"}'), "utf-8")
    *lines, _ = terminal_lines(Terminal(story), file)
    told = [line.partition(" 2026-11-29 ")[2].split(": ") for line in lines]
    low = "would wait (amount_over_limit)"
    people = "waited (amount_over_limit; 1 x refund_manager)", low.replace(")", "; 1 x oncall)")
    assert [" | ".join(parts) for parts in told] == [
        f"issue_refund 600.00 USD | {' -> '.join(people)}",
        f"issue_refund 5.00 USD | ran -> {low}",
        "flag_for_fraud | ran -> would wait (fraud_flag)",
        f"issue_refund 6.00 USD | was refused (breaker_open) -> {low}",
        f"issue_refund 61.00 USD | was refused (too_many_open) -> {low}",
    ]
    assert [line[:4] for line in lines] == ["apr_", "apr_", "apr_", "run_", "run_"]


def terminal_lines(terminal: Terminal, file: Path) -> list[str]:
    """Return the differences, and the line after them."""
    found = terminal.run("policy", "try", str(file)).stdout.splitlines()
    end = next(n for n, line in enumerate(found) if line.startswith("policy "))
    return found[: end + 1]


def test_a_trial_is_printed_as_json(story: Story, terminal: Terminal, tmp_path: Path) -> None:
    file = saved(tmp_path, 'auto_limit: {USD: "50.00"}', 'auto_limit: {USD: "10.00"}')
    nothing = terminal.json("policy", "try", str(file), "--json")
    assert isinstance(nothing, dict)
    assert (nothing["differences"], nothing["judged"]) == ([], 0)
    ask(story, "50.00", "ORD-1001")
    ask(story, "20.00", "ORD-1008")
    ask(story, "60.00", "ORD-1005")
    found = terminal.json("policy", "try", str(file), "--json", "--days", "2")
    assert isinstance(found, dict)
    first, second = found["differences"]
    assert first == {
        "id": story.all(Status.EXECUTED)[0].id,
        "at": "2026-11-29T12:00:00Z",
        "tool": "issue_refund",
        "amount": {"minor": 5000, "currency": "USD", "display": "50.00 USD"},
        "change": "waits",
        "before": {"verdict": "run"},
        "now": {
            "verdict": "wait",
            "reasons": ["amount_over_limit"],
            "needs": {"role": "refund_approver", "approvals": 1},
        },
    }
    assert second["amount"]["minor"] == 2000
    assert found["totals"]["waits"] == {"proposals": 2, "money": {"USD": "70.00"}}
    assert found["totals"]["same"] == {"proposals": 1, "money": {"USD": "60.00"}}
    assert (found["days"], found["unreadable"], len(found["notes"])) == (2, 0, 5)
    assert found["file"] == str(file)


def test_the_environment_overrides_the_tried_file_as_well(
    story: Story, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ask(story, "60.00", "ORD-1001")
    monkeypatch.setenv("REFUND_AUTO_LIMIT", "60.00")
    done = terminal.run("policy", "try", str(saved(tmp_path)))
    assert value(done, "would run") == "1  60.00 USD"
    assert value(done, "environment") == (
        "REFUND_AUTO_LIMIT sets refunds.auto_limit.USD to 60.00; the file says 50.00"
    )


@pytest.mark.parametrize("days", ["0", "-1", "3651", "1.5", "many"])
def test_days_are_a_number_of_days(terminal: Terminal, days: str) -> None:
    terminal.run("policy", "try", str(POLICY_FILE), "--days", days, code=2)


def test_a_file_that_is_not_there_is_named(terminal: Terminal, tmp_path: Path) -> None:
    none = tmp_path / "none\u202e.yml"
    refused = terminal.run("policy", "try", str(none), code=1)
    assert "none\\u202e.yml cannot be read: No such file or directory" in refused.stderr


def test_output_is_json_to_its_last_byte(story: Story, terminal: Terminal) -> None:
    shown = terminal.run("policy", "show", "--format", "json").stdout
    assert json.loads(shown)["file"] == str(SHIPPED_POLICY)
    assert story.trail() == []
