"""A wrong policy file is refused with the file, the line, the entry and the reason."""

import os
from pathlib import Path

import pytest

from agent.domain.errors import InvalidInput
from bot.policy_file import read_policy_file
from bot.settings import Settings, load_policy, load_settings, overrides, policy_file
from tests.support.builders import POLICY_FILE

SHIPPED = POLICY_FILE.read_text("utf-8")


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def refusal_of(file: Path) -> str:
    with pytest.raises(InvalidInput) as refused:
        load_policy(load_settings().model_copy(update={"policy_file": file}))
    return str(refused.value)


def saved(folder: Path, text: str) -> Path:
    file = folder / "policy.yml"
    file.write_text(text, "utf-8")
    return file


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "at", "told"),
    [
        pytest.param(
            '{up_to: "500.00", role',
            '{up_to: "5,00", role',
            '"5,00"',
            "refunds.tiers.USD.0.up_to: '5,00' is not a plain decimal number such as 0.90",
            id="a number",
        ),
        pytest.param(
            '{USD: "50.00"}',
            "{USD: 50.00}",
            "auto_limit",
            "refunds.auto_limit.USD: is text: put it in quotes, as in '50.0'",
            id="a number without quotes",
        ),
        pytest.param(
            '{USD: "50.00"}',
            "{USD: [50]}",
            "auto_limit",
            "refunds.auto_limit.USD: input should be a valid string",
            id="a list",
        ),
        pytest.param(
            "max_revisions: 3",
            "max_revision: 3",
            "max_revision: 3",
            "max_revision: there is no such entry; did you mean max_revisions?",
            id="a misspelt entry",
        ),
        pytest.param(
            "{role: refund_manager, approvals: 2,",
            "{role: refund_manager, approval: 2,",
            "approval: 2",
            "refunds.tiers.USD.2.approval: there is no such entry; did you mean approvals?",
            id="a misspelt entry deep inside",
        ),
        pytest.param(
            "    photo_request:\n      subject",
            "    photo.request:\n      object",
            "      object",
            "emails.templates.photo.request.object: there is no such entry; did you mean subject?",
            id="a name with a dot",
        ),
        pytest.param(
            "  max_refunds: 5",
            "  max_refunds: 5\n  zzz: 1",
            "zzz",
            "breaker.zzz: there is no such entry; there are max_refunds, window_s, cooldown_s, "
            "when_open",
            id="an entry like no other",
        ),
        pytest.param(
            "  oncall: {",
            "  on_call: {",
            "on_call",
            "roles.on_call: input should be 'refund_approver', 'refund_manager', 'oncall' or "
            "'support_agent'",
            id="an unknown role",
        ),
        pytest.param(
            'up_to: "500.00", role: refund_approver',
            'up_to: "500.00", role: support_agent',
            "role: support_agent",
            "refunds.tiers.USD.0.role: answers customers and decides on nothing",
            id="a role that decides nothing",
        ),
        pytest.param(
            'up_to: "500.00"',
            'up_to: "5000.00"',
            "USD:\n",
            "refunds.tiers.USD: each up_to is larger than the one before",
            id="tiers out of order",
        ),
        pytest.param(
            "subject: Order {order_id} is late",
            "subject: Order {order} is late",
            "subject: Order {order} is late",
            "emails.templates.delay_apology.subject: only ['name', 'order_id'] are filled in",
            id="a field that nobody fills in",
        ),
        pytest.param(
            "timezone: UTC",
            "timezone: Mars/Olympus",
            "timezone: Mars",
            "escalation.timezone: is no time zone such as UTC or Europe/Berlin",
            id="no such time zone",
        ),
        pytest.param(
            'oncall_at: "0.80"',
            'oncall_at: "0.49"',
            "oncall_at",
            "escalation.oncall_at: comes before remind_at",
            id="on-call before the reminder",
        ),
        pytest.param(
            "business_hours: null",
            'business_hours: {days: [mon], opens: "09:00", closes: "09:59"}',
            "business_hours: {",
            "escalation.business_hours.closes: lies at least an hour after opens, on the same day",
            id="hardly any business hours",
        ),
    ],
)
def test_an_entry_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, at: str, told: str
) -> None:
    assert SHIPPED.count(old) >= 1
    text = SHIPPED.replace(old, new, 1)
    file = saved(tmp_path, text)
    line = text[: text.index(at)].count("\n") + 1
    assert f"line {line}: {told}" in refusal_of(file)
    assert refusal_of(file).startswith(f"POLICY_FILE: {file}, line ")


def test_every_fault_is_told_from_top_to_bottom(tmp_path: Path) -> None:
    text = SHIPPED.replace("  window_s: 60", "  window: 60").replace("confidence_min", "certainty")
    told = refusal_of(saved(tmp_path, text)).split("; line ")
    lines = [int(one.partition(":")[0]) for one in told[1:]]
    assert len(told) == 4
    assert lines == sorted(lines)
    assert told[0].endswith("line 2: refunds.confidence_min: is missing")
    assert told[1].endswith(
        "there is no such entry; there are auto_limit, confidence_min, "
        "cumulative_window_s, customer_window_s, customer_max_refunds, earlier_no_s, "
        "decide_within_s, use_within_s, tiers"
    )
    assert told[2].endswith("breaker.window_s: is missing")
    assert told[3].endswith("breaker.window: there is no such entry; did you mean window_s?")


def test_of_very_many_faults_the_first_are_told(tmp_path: Path) -> None:
    text = SHIPPED + "".join(f"entry_{number}: 1\n" for number in range(30))
    told = refusal_of(saved(tmp_path, text))
    assert told.count("there is no such entry") == 10
    assert told.endswith("; and 20 more")


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: 1\nb: [2\n", 3, "while parsing a flow sequence expected ',' or ']'"),
        ("a: 1\n b: 2\n", 2, "mapping values are not allowed here"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' appears twice, first on line 1"),
        ("a:\n- c: 1\n  'c': 2\n", 3, "the key 'c' appears twice, first on line 2"),
        ("a: &x {b: 1}\nc: [*x, *x]\nd: {<<: *x, <<: *x}\n", 3, "'<<' appears twice"),
        ("a: 1\n--- \nb: 2\n", 2, "but found another document"),
        ("a: 1\nb: *nobody\n", 2, "found undefined alias"),
        ("a: 1\nb: !!python/name:os.system\n", 2, "could not determine a constructor"),
        ("a: 1\nb: 2026-13-45\n", 2, "cannot be read: month must be in 1..12"),
        ("a: 1\n? [b]\n: 2\n", 2, "found unhashable key"),
        ("a: 1\n? {b: 1}\n: 2\n", 2, "found unhashable key"),
        ("a: 1\nb: !!int much\n", 2, "cannot be read: invalid literal"),
        ("a: 1\nb: '\x07'\n", 2, "is not YAML: special characters are not allowed"),
        ("a: 1\nb: '\x00'\n", 2, "is not YAML: special characters are not allowed"),
    ],
)
def test_bad_yaml_is_named_with_its_line(tmp_path: Path, text: str, line: int, told: str) -> None:
    file = saved(tmp_path, text)
    assert refusal_of(file).startswith(f"POLICY_FILE: {file}, line {line}: ")
    assert told in refusal_of(file)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", " holds no entries: it is empty"),
        (b"# only a comment\n", " holds no entries: it is empty"),
        (b"- 1\n", " holds no entries: a list stands where `name: value` belongs"),
        (b"five\n", " holds no entries: a single value stands where"),
        (b"a: 1\nb: \xe4\n", ", line 2: is not YAML in UTF-8 (byte 0xe4)"),
        ("a: 1\n".encode("utf-16"), ", line 1: is not YAML in UTF-8 (byte 0xff)"),
        (b"a: " + b"[" * 5000, " is nested too deeply"),
        (b"# " + b"x" * 1024 * 1024, " is larger than 1048576 bytes"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    file = tmp_path / "policy.yml"
    file.write_bytes(content)
    assert f"POLICY_FILE: {file}{told}" in refusal_of(file)


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    assert refusal_of(tmp_path) == f"POLICY_FILE: {tmp_path} cannot be read: Is a directory"
    none = tmp_path / "none.yml"
    assert refusal_of(none) == f"POLICY_FILE: {none} cannot be read: No such file or directory"
    endless = Path("/dev/zero")
    assert refusal_of(endless) == "POLICY_FILE: /dev/zero is larger than 1048576 bytes"


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "policy.yml"
    file.write_bytes(b"\xef\xbb\xbf" + SHIPPED.replace("\n", "\r\n").encode())
    read = load_policy(load_settings().model_copy(update={"policy_file": file}))
    assert read.max_revisions == 3


def test_anchors_and_merged_entries_are_read_and_faults_in_them_found(tmp_path: Path) -> None:
    text = SHIPPED.replace(
        '      - {up_to: "500.00", role: refund_approver}\n',
        '      - &first {up_to: "500.00", role: refund_approver}\n',
        1,
    ).replace(
        '    EUR:\n      - {up_to: "500.00", role: refund_approver}\n',
        '    EUR:\n      - {<<: *first, up_to: "400.00"}\n',
    )
    assert text.count("*first") == 1
    file = saved(tmp_path, text)
    read = load_policy(load_settings().model_copy(update={"policy_file": file}))
    assert read.refunds.tiers["EUR"][0].up_to == "400.00"
    file = saved(tmp_path, text.replace('"400.00"', '"4,00"'))
    assert f"line {line_of(text, '*first')}: refunds.tiers.EUR.0.up_to" in refusal_of(file)
    file = saved(tmp_path, text.replace("&first {up_to", "&first {approvals: 9, up_to"))
    told = refusal_of(file)
    assert told.count(f"line {line_of(text, '&first')}: refunds.tiers.USD.0.approvals") == 1
    assert "refunds.tiers.EUR.0.approvals: input should be less than or equal to 2" in told


def test_a_mapping_that_holds_itself_is_refused_like_any_other(tmp_path: Path) -> None:
    file = saved(tmp_path, f"{SHIPPED}a: &x\n  b: *x\n")
    assert "a: there is no such entry" in refusal_of(file)


def test_what_the_environment_makes_wrong_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A zero with a sign passes for a share, but is not written as one.
    monkeypatch.setenv("CONFIDENCE_MIN", "-0")
    told = "CONFIDENCE_MIN: refunds.confidence_min: '-0' is not a plain decimal number"
    assert refusal_of(POLICY_FILE).startswith(told)
    assert "line" not in refusal_of(POLICY_FILE)
    file = saved(tmp_path, SHIPPED.replace("max_refunds: 5", "max_refunds: 0"))
    told = refusal_of(file)
    assert told.startswith(f"POLICY_FILE: {file}, line ")
    assert "breaker.max_refunds: input should be greater than or equal to 1; CONF" in told


def test_a_fault_of_the_file_that_the_environment_mends_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = saved(tmp_path, SHIPPED.replace("cooldown_s: 30", "cooldown_s: 0"))
    assert "breaker.cooldown_s" in refusal_of(file)
    monkeypatch.setenv("BREAKER_COOLDOWN_S", "9")
    settings = load_settings().model_copy(update={"policy_file": file})
    assert load_policy(settings).breaker.cooldown_s == 9
    (only,) = overrides(settings)
    assert (only.name, only.entry, only.value) == ("BREAKER_COOLDOWN_S", "breaker.cooldown_s", 9)
    read = policy_file(settings)
    assert read.value("breaker.cooldown_s") == 0
    assert read.value("breaker.cooldown_s.more") is None


def test_a_file_may_come_through_a_pipe() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        pipe.write("a: 1\n")
    try:
        assert read_policy_file(Path(f"/dev/fd/{reading}")).content == {"a": 1}
    finally:
        os.close(reading)
