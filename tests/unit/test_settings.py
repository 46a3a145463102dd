"""Settings: read once, refused by name with a reason, and what they do to the policy file."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from agent.domain.errors import InvalidInput
from agent.domain.money import Money
from bot.settings import Settings, apply_overrides, load_policy, load_settings, sandbox_refusal

JWT_SECRET = "a-secret-that-is-long-enough-for-hs256"
LIVE_KEY = "sk_live_abcdefgh"


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def loaded(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return load_settings()


def test_without_an_environment_the_defaults_hold() -> None:
    settings = load_settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 3000)
    assert settings.database_url.get_secret_value() == "sqlite:///var/desk.db"
    assert settings.sweep_interval_s == 5
    assert settings.is_sandbox
    assert settings.is_offline
    assert sandbox_refusal(settings) is None


def test_a_name_that_is_set_to_nothing_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, PORT="", SLACK_BOT_TOKEN="", REFUND_AUTO_LIMIT="")
    assert settings.port == 3000
    assert settings.is_sandbox
    assert settings.refund_auto_limit is None


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("PORT", "abc", "integer"),
        ("PORT", "70000", "65535"),
        ("DATABASE_URL", "mysql://desk", "sqlite:/// or postgresql://"),
        ("REFUND_AUTO_LIMIT", "fifty", "plain decimal"),
        ("REFUND_AUTO_LIMIT", "NaN", "plain decimal"),
        ("REFUND_AUTO_LIMIT", "1e3", "plain decimal"),
        ("REFUND_AUTO_LIMIT", "5.001", "more decimals than USD allows"),
        ("REFUND_AUTO_LIMIT", "-1", "negative"),
        ("REFUND_AUTO_LIMIT", "1" + "0" * 12, "too large"),
        ("CONFIDENCE_MIN", "1.01", "between 0 and 1"),
        ("CONFIDENCE_MIN", "NaN", "between 0 and 1"),
        ("CONFIDENCE_MIN", "high", "decimal number"),
        ("CONFIDENCE_MIN", "0.1234567", "six decimals"),
        ("BREAKER_MAX_REFUNDS", "0", "greater than or equal to 1"),
        ("BREAKER_WINDOW_S", "1.5", "integer"),
        ("BREAKER_COOLDOWN_S", "0", "greater than 0"),
        ("REFUND_DECIDE_WITHIN_S", "9999999", "less than or equal"),
        ("REFUND_USE_WITHIN_S", "-1", "greater than 0"),
        ("MAX_REVISIONS", "none", "integer"),
        ("SWEEP_INTERVAL_S", "0", "greater than or equal to 1"),
        ("SLACK_API_URL", "slack.com/api", "http or https address"),
        ("OPENAI_BASE_URL", "localhost:8000", "http or https address"),
        ("SMTP_URL", "nonsense", "starts with smtp:// or smtps://"),
        ("SMTP_URL", "smtp://", "names no host"),
        ("SMTP_URL", "smtp://me@mail.example", "without a password"),
        ("MAIL_FROM", "nonsense", "is not an address such as"),
        ("MAIL_FROM", "a@shop.example, b@shop.example", "is not an address such as"),
        ("MAIL_REPLY_TO", "nobody", "is not an address such as"),
        ("MAIL_UNREAD_AFTER_S", "-1", "greater than or equal to 0"),
        ("MAIL_UNREAD_AFTER_S", "soon", "integer"),
        ("SHOP_URL", "shop.example", "http or https address"),
        ("SHOP_URL", "https://shop.example/#chat", "holds a blank or a #"),
        ("WIDGET_JWT_SECRET", "short", "shorter than 32 bytes"),
        ("AUDIT_KEY", "k" * 31, "shorter than 32 bytes"),
        ("WIDGET_JWT_PUBLIC_KEY", "no key at all", ""),
        ("WIDGET_JWT_PUBLIC_KEY", "-----BEGIN PRIVATE KEY-----", "private half"),
        ("TRUSTED_PROXIES", "10.0.0.1/8", "no address or network"),
        ("WIDGET_ORIGINS", "*", "not an origin"),
        ("WIDGET_ORIGINS", "https://shop.example/path", "write https://shop.example"),
        ("WIDGET_ORIGINS", "https://shop.example, ftp://shop.example", "ftp://shop.example"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_the_reason(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        loaded(monkeypatch, **{name: value})
    assert str(refused.value).startswith(f"{name}: ")
    assert reason in refused.value.problem
    assert "\n" not in str(refused.value)


def test_every_wrong_value_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"PORT: .*'x'.*; MAX_REVISIONS: .*'y'"):
        loaded(monkeypatch, PORT="x", MAX_REVISIONS="y")


def test_a_secret_is_in_no_error_and_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput) as refused:
        loaded(monkeypatch, WIDGET_JWT_SECRET="tiny-secret", DATABASE_URL="mysql://u:pass@host/db")
    assert "tiny-secret" not in str(refused.value)
    assert "pass" not in str(refused.value)
    with pytest.raises(InvalidInput) as refused:
        loaded(monkeypatch, SMTP_URL="smtp://me:hunter2@mail.example?starttls=optional")
    assert "hunter2" not in str(refused.value)
    settings = loaded(
        monkeypatch,
        WIDGET_JWT_SECRET=JWT_SECRET,
        DATABASE_URL="postgresql://u:pass@host/db",
        SMTP_URL="smtp://me:hunter2@mail.example",
        MAIL_FROM="desk@shop.example",
    )
    assert "hunter2" not in repr(settings)
    assert JWT_SECRET not in repr(settings)
    assert "pass" not in repr(settings)


def test_settings_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, PORT="8080")
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 80  # type: ignore[misc]
    assert settings.port == 8080


def test_slack_needs_everything_that_belongs_together(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"^SLACK_SIGNING_SECRET: is needed"):
        loaded(monkeypatch, SLACK_BOT_TOKEN="xoxb-1")
    with pytest.raises(InvalidInput, match=r"^SLACK_ONCALL_CHANNEL: is needed"):
        loaded(monkeypatch, SLACK_SIGNING_SECRET="s", SLACK_APPROVALS_CHANNEL="C1")
    assert not loaded(monkeypatch, SLACK_ONCALL_CHANNEL="C2").is_sandbox


def test_socket_mode_needs_no_signing_secret_but_the_right_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InvalidInput, match=r"^SLACK_BOT_TOKEN: is needed with SLACK_APP_TOKEN"):
        loaded(monkeypatch, SLACK_APP_TOKEN="xapp-1")
    channels = {"SLACK_APPROVALS_CHANNEL": "C1", "SLACK_ONCALL_CHANNEL": "C2"}
    settings = loaded(monkeypatch, SLACK_BOT_TOKEN="xoxb-1", **channels)
    assert settings.slack_signing_secret is None
    with pytest.raises(InvalidInput, match=r"^SLACK_APP_TOKEN: starts with xapp-") as refused:
        loaded(monkeypatch, SLACK_APP_TOKEN="xoxb-secret")
    assert "xoxb-secret" not in str(refused.value)


def test_mail_needs_a_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"^MAIL_FROM: is needed with SMTP_URL"):
        loaded(monkeypatch, SMTP_URL="smtp://localhost:2525")
    settings = loaded(monkeypatch, MAIL_FROM="Shop <help@shop.example>")
    assert settings.smtp_url is not None
    assert settings.smtp_url.get_secret_value() == "smtp://localhost:2525"
    assert settings.mail_from == "Shop <help@shop.example>"


def test_origins_are_a_list_in_one_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, WIDGET_ORIGINS="https://Shop.example/, http://localhost:3000")
    assert settings.widget_origins == ("https://shop.example", "http://localhost:3000")


def test_a_model_of_ones_own_is_not_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not loaded(monkeypatch, OPENAI_BASE_URL="http://localhost:8000/v1").is_offline


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"HOST": "0.0.0.0"}, "HOST is 0.0.0.0"),  # noqa: S104 - what the sandbox refuses
        ({"HOST": "desk.example"}, "HOST is desk.example"),
        ({"STRIPE_API_KEY": LIVE_KEY}, "STRIPE_API_KEY"),
        ({"STRIPE_API_KEY": "rk_live_1"}, "STRIPE_API_KEY"),
        (
            {"SMTP_URL": "smtps://user:pass@mail.example:465", "MAIL_FROM": "a@b.example"},
            "SMTP_URL",
        ),
        ({"SMTP_URL": "smtp://10.0.0.7", "MAIL_FROM": "a@b.example"}, "SMTP_URL"),
    ],
)
def test_the_sandbox_does_not_stand_beside_the_real_world(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], reason: str
) -> None:
    refusal = sandbox_refusal(loaded(monkeypatch, **variables))
    assert refusal is not None
    assert refusal.startswith(reason)
    assert LIVE_KEY not in refusal
    assert "pass" not in refusal


@pytest.mark.parametrize(
    "variables",
    [
        {"HOST": "localhost"},
        {"HOST": "::1"},
        {"HOST": "127.0.0.2"},
        {"STRIPE_API_KEY": "sk_test_1"},
        {"SMTP_URL": "smtp://127.0.0.1:2525", "MAIL_FROM": "desk@localhost"},
        {"SMTP_URL": "smtps://me:pw@localhost", "MAIL_FROM": "desk@shop.example"},
    ],
)
def test_the_sandbox_stands_beside_what_is_local(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    assert sandbox_refusal(loaded(monkeypatch, **variables)) is None


def test_the_shipped_policy_is_the_default() -> None:
    policy = load_policy(load_settings())
    assert policy.auto_limit("USD") == Money(5000, "USD")
    assert policy.breaker.max_refunds == 5


def test_every_override_finds_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = load_policy(load_settings())
    settings = loaded(
        monkeypatch,
        REFUND_AUTO_LIMIT=" 75 ",
        CONFIDENCE_MIN="0.5",
        BREAKER_MAX_REFUNDS="2",
        BREAKER_WINDOW_S="10",
        BREAKER_COOLDOWN_S="3",
        REFUND_DECIDE_WITHIN_S="4",
        REFUND_USE_WITHIN_S="6",
        MAX_REVISIONS="7",
    )
    policy = load_policy(settings)
    assert policy.auto_limit("USD") == Money(7500, "USD")
    assert policy.refunds.confidence_min == "0.5"
    assert (policy.breaker.max_refunds, policy.breaker.window_s) == (2, 10)
    assert policy.breaker.cooldown_s == 3
    assert (policy.refunds.decide_within_s, policy.refunds.use_within_s) == (4, 6)
    assert policy.max_revisions == 7
    assert policy.version != shipped.version


def test_overrides_leave_the_document_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    document: dict[str, object] = {"refunds": {"auto_limit": {"USD": "50.00"}}, "breaker": None}
    settings = loaded(monkeypatch, REFUND_AUTO_LIMIT="60.00", BREAKER_WINDOW_S="9")
    changed = apply_overrides(document, settings)
    assert changed == {"refunds": {"auto_limit": {"USD": "60.00"}}, "breaker": None}
    assert document["refunds"] == {"auto_limit": {"USD": "50.00"}}


SHIPPED = Path(__file__).parents[2] / "agent" / "policy.yml"


@pytest.mark.parametrize(
    ("old", "new", "line_of", "problem"),
    [
        ("  cooldown_s: 30", "  cooldown_s: 0", "  cooldown_s: 0", "breaker.cooldown_s"),
        ('{USD: "50.00"}', "{USD: 50.00}", "auto_limit", "refunds.auto_limit.USD"),
        ("  window_s: 60", "  windows: 60", "breaker:", "breaker.window_s"),
        ("max_revisions: 3", "max_revisions: 3\nextra: 1", "extra: 1", "extra"),
        ("max_revisions: 3", "breaker: {}", "breaker: {}", "'breaker' appears twice"),
        ("max_revisions: 3", "max_revisions: [3", "roles:", "expected"),
        ("max_revisions: 3", "max_revisions: !!python/name:os.system", "max_revisions", "tag"),
        ('{up_to: "2000.00"', '{up_to: "20000.0000001"', '"20000.0000001"', "tiers.USD.1.up_to"),
    ],
)
def test_a_fault_in_the_policy_file_is_shown_with_its_line(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    old: str,
    new: str,
    line_of: str,
    problem: str,
) -> None:
    text = SHIPPED.read_text("utf-8").replace(old, new, 1)
    file = tmp_path / "policy.yml"
    file.write_text(text, "utf-8")
    settings = loaded(monkeypatch, POLICY_FILE=str(file))
    with pytest.raises(InvalidInput) as refused:
        load_policy(settings)
    line = next(n for n, one in enumerate(text.splitlines(), 1) if line_of in one)
    assert str(refused.value).startswith(f"POLICY_FILE: {file}, line {line}: ")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "holds no entries"), (b"- 1", "no entries"), (b"\xff", "YAML")]
)
def test_a_file_that_is_no_policy_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes, problem: str
) -> None:
    file = tmp_path / "policy.yml"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=problem):
        load_policy(loaded(monkeypatch, POLICY_FILE=str(file)))


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "none.yml"
    with pytest.raises(InvalidInput, match=r"none.yml cannot be read: No such file"):
        load_policy(loaded(monkeypatch, POLICY_FILE=str(file)))
