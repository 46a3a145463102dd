"""Settings: the only reader of the environment, and of the policy file it points to."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import jwt
from jwt.algorithms import get_default_algorithms
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

import agent
from agent.domain.errors import InvalidInput
from agent.domain.money import parse_money
from agent.domain.policy import Policy, Seconds, read_policy
from agent.providers.mail_message import read_recipients, read_sender
from agent.providers.smtp_address import is_loopback, read_smtp_url
from bot.policy_file import PolicyFile, read_policy_file

# RFC 7518 §3.2: a key of HS256 has at least the size of the hash.
_MIN_JWT_SECRET_BYTES = 32
_MIN_WEBHOOK_SECRET, _MOST_WEBHOOK_SECRETS = 16, 4
_DATABASES = ("sqlite:///", "postgresql://", "postgresql+psycopg://")
_LIVE_STRIPE_KEYS = ("sk_live_", "rk_live_")
_SHOWN_CHARACTERS = 40
SHIPPED_POLICY = Path(agent.__file__).with_name("policy.yml")
# The settings that change the policy, and the entry that each of them sets.
_OVERRIDES = {
    "refund_auto_limit": "refunds.auto_limit.USD",
    "confidence_min": "refunds.confidence_min",
    "refund_decide_within_s": "refunds.decide_within_s",
    "refund_use_within_s": "refunds.use_within_s",
    "breaker_max_refunds": "breaker.max_refunds",
    "breaker_window_s": "breaker.window_s",
    "breaker_cooldown_s": "breaker.cooldown_s",
    "max_revisions": "max_revisions",
}


def _usd(text: str) -> str:
    try:
        amount = parse_money(text, "USD")
    except InvalidInput as error:
        raise ValueError(error.problem) from error
    if amount.minor < 0:
        raise ValueError("is negative")
    return amount.plain()


def _share(text: str) -> str:
    try:
        value = Decimal(text.strip())
    except InvalidOperation as error:
        raise ValueError("is not a decimal number such as 0.90") from error
    if not value.is_finite() or not 0 <= value <= 1:
        raise ValueError("must lie between 0 and 1")
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -6:  # noqa: PLR2004 - as the policy file has it
        raise ValueError("has more than six decimals")
    return f"{value:f}"


def _split(text: object) -> object:
    return tuple(text.replace(",", " ").split()) if isinstance(text, str) else text


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        raise ValueError(f"{text!r} is no address or network such as 10.0.0.0/8") from error


def _origin(text: str) -> str:
    try:
        parts = urlsplit(text)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError as error:
        raise ValueError(f"{text!r} is not an origin") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{text!r} is not an origin such as https://shop.example")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    origin = f"{parts.scheme}://{host}{port}"
    if text.rstrip("/").lower() != origin:
        raise ValueError(f"{text!r} is more than an origin: write {origin}")
    return origin


def _http_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is not an http or https address")
    return text


def _page(text: str) -> str:
    if "#" in text or not text.isprintable() or " " in text:
        raise ValueError("holds a blank or a #: the mails' links add #support-desk themselves")
    return _http_url(text)


def _known_database(url: SecretStr) -> SecretStr:
    if not url.get_secret_value().startswith(_DATABASES):
        raise ValueError("starts with sqlite:/// or postgresql://")
    return url


def _long_secret(secret: SecretStr) -> SecretStr:
    if len(secret.get_secret_value().encode()) < _MIN_JWT_SECRET_BYTES:
        raise ValueError(f"is shorter than {_MIN_JWT_SECRET_BYTES} bytes")
    return secret


def _rsa_key(key: SecretStr) -> SecretStr:
    # Where a variable cannot hold line breaks, people write \n.
    pem = key.get_secret_value().replace("\\n", "\n")
    if "PRIVATE KEY" in pem:
        raise ValueError("is the private half of the key, which stays with the shop")
    algorithm = get_default_algorithms().get("RS256")
    if algorithm is None:
        raise ValueError("needs the package cryptography, which is not installed")
    try:
        algorithm.prepare_key(pem)
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise ValueError("is not an RSA public key in PEM form") from error
    return SecretStr(pem)


def _webhook_secrets(secrets: SecretStr) -> SecretStr:
    found = _words(secrets)
    if not found:
        raise ValueError("holds no secret")
    if any(len(secret) < _MIN_WEBHOOK_SECRET for secret in found):
        raise ValueError(f"holds a secret shorter than {_MIN_WEBHOOK_SECRET} characters")
    if len(found) > _MOST_WEBHOOK_SECRETS:
        raise ValueError(f"holds more than {_MOST_WEBHOOK_SECRETS} secrets")
    return secrets


def _words(secrets: SecretStr) -> tuple[str, ...]:
    return tuple(secrets.get_secret_value().replace(",", " ").split())


def _smtp_url(url: SecretStr) -> SecretStr:
    try:
        read_smtp_url(url.get_secret_value())
    except InvalidInput as error:
        raise ValueError(error.problem) from None
    return url


def _sender(text: str) -> str:
    try:
        read_sender(text)
    except InvalidInput as error:
        raise ValueError(error.problem) from error
    return text


def _recipients(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        return read_recipients(text)
    except InvalidInput as error:
        raise ValueError(error.problem) from error


def _app_token(token: SecretStr) -> SecretStr:
    if not token.get_secret_value().startswith("xapp-"):
        raise ValueError("starts with xapp-: it is made under App-Level Tokens")
    return token


UsdAmount = Annotated[str, AfterValidator(_usd)]
ShareText = Annotated[str, AfterValidator(_share)]
Origins = Annotated[
    tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode, BeforeValidator(_split)
]
Networks = Annotated[
    tuple[Annotated[str, AfterValidator(_network)], ...], NoDecode, BeforeValidator(_split)
]
PageUrl = Annotated[str, AfterValidator(_page)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
SmtpUrl = Annotated[SecretStr, AfterValidator(_smtp_url)]
MailSender = Annotated[str, AfterValidator(_sender)]
MailRecipients = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_recipients)]
WebhookSecrets = Annotated[SecretStr, AfterValidator(_webhook_secrets)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_known_database)]
JwtSecret = Annotated[SecretStr, AfterValidator(_long_secret)]
SlackAppToken = Annotated[SecretStr, AfterValidator(_app_token)]
# HMAC-SHA256 wants a key of the size of the hash too (RFC 2104 §3).
AuditKey = Annotated[SecretStr, AfterValidator(_long_secret)]
# No secret, but people paste the wrong half: it is shown as little as one.
RsaKey = Annotated[SecretStr, AfterValidator(_rsa_key)]


class Settings(BaseSettings):
    """Everything that one may set. A name that is set to nothing counts as not set."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    host: Annotated[str, Field(min_length=1, max_length=255)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 3000
    database_url: DatabaseUrl = SecretStr("sqlite:///var/desk.db")
    policy_file: Path | None = None
    # Whose X-Forwarded-For is believed: limits per address need the customers' own.
    trusted_proxies: Networks = ("127.0.0.1/32", "::1/128")

    refund_auto_limit: UsdAmount | None = None
    confidence_min: ShareText | None = None
    breaker_max_refunds: Annotated[int, Field(ge=1, le=100_000)] | None = None
    breaker_window_s: Seconds | None = None
    breaker_cooldown_s: Seconds | None = None
    refund_decide_within_s: Seconds | None = None
    refund_use_within_s: Seconds | None = None
    max_revisions: Annotated[int, Field(ge=1, le=100)] | None = None
    sweep_interval_s: Annotated[int, Field(ge=1, le=3600)] = 5

    slack_bot_token: SecretStr | None = None
    slack_signing_secret: SecretStr | None = None
    # With it Slack is heard over connections that the desk opens: Socket Mode.
    slack_app_token: SlackAppToken | None = None
    slack_api_url: HttpUrl = "https://slack.com/api/"
    slack_approvals_channel: str | None = None
    slack_oncall_channel: str | None = None
    slack_review_channel: str | None = None
    slack_fallback_channel: str | None = None

    # Where other people's machines reach the desk: Slack's requests come to /slack/events below it.
    public_url: HttpUrl | None = None

    openai_api_key: SecretStr | None = None
    openai_base_url: HttpUrl | None = None
    openai_model: str = "gpt-5-mini"
    # So long the offline model takes for a word, so that people see an answer come.
    offline_pace_ms: Annotated[int, Field(ge=0, le=1000)] = 20

    widget_jwt_secret: JwtSecret | None = None
    widget_jwt_public_key: RsaKey | None = None
    widget_origins: Origins = ()

    smtp_url: SmtpUrl | None = None
    mail_from: MailSender | None = None
    mail_reply_to: MailSender | None = None
    # 0: customers hear of outcomes in the chat alone.
    mail_unread_after_s: Annotated[int, Field(ge=0, le=604_800)] = 300
    # The page of the shop with the chat: where the links in mails lead.
    shop_url: PageUrl | None = None
    oncall_mail: MailRecipients = ()

    audit_key: AuditKey | None = None
    audit_heads_file: Path = Path("var/audit-heads.jsonl")

    # Read for one purpose so far: the sandbox does not start beside it.
    stripe_api_key: SecretStr | None = None
    # Several, by spaces or commas, while the provider's endpoint exchanges one for another.
    stripe_webhook_secret: WebhookSecrets | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.widget_jwt_secret is not None and self.widget_jwt_public_key is not None:
            raise ValueError(
                "WIDGET_JWT_PUBLIC_KEY: set it or WIDGET_JWT_SECRET, not both: the desk accepts "
                "one algorithm"
            )
        if self.smtp_url is not None and self.mail_from is None:
            raise ValueError("MAIL_FROM: is needed with SMTP_URL")
        if self.slack_bot_token is not None and self.oncall_mail and self.smtp_url is None:
            raise ValueError("SMTP_URL: is needed with ONCALL_MAIL")
        self._slack_fits_together()
        return self

    def _slack_fits_together(self) -> None:
        if self.slack_bot_token is None:
            if self.slack_app_token is not None:
                raise ValueError("SLACK_BOT_TOKEN: is needed with SLACK_APP_TOKEN")
            return
        if self.slack_signing_secret is None and self.slack_app_token is None:
            raise ValueError(
                "SLACK_SIGNING_SECRET: is needed with SLACK_BOT_TOKEN to hear Slack over HTTP, or "
                "SLACK_APP_TOKEN to hear it in Socket Mode"
            )
        for name in ("slack_approvals_channel", "slack_oncall_channel"):
            if getattr(self, name) is None:
                raise ValueError(f"{name.upper()}: is needed with SLACK_BOT_TOKEN")

    @property
    def is_sandbox(self) -> bool:
        """Return whether the desk talks to the stand-in instead of Slack."""
        return self.slack_bot_token is None

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """Return the signing secrets of the payment provider's webhook; none leaves it shut."""
        return () if self.stripe_webhook_secret is None else _words(self.stripe_webhook_secret)

    @property
    def is_offline(self) -> bool:
        """Return whether the offline model answers."""
        return self.openai_api_key is None and self.openai_base_url is None


def load_settings() -> Settings:
    """Read the environment; raises InvalidInput with every name that is wrong, and why."""
    try:
        return Settings()
    except ValidationError as error:
        first, *others = _problems(error)
        name, _, problem = first.partition(": ")
        raise InvalidInput(name, "; ".join([problem, *others])) from None


def load_policy(settings: Settings) -> Policy:
    """Read the policy file, or the shipped policy, with what the environment overrides.

    Raises InvalidInput naming the file, the line, the entry and what is wrong with it; where the
    environment made it wrong, the variable instead of file and line.
    """
    file = policy_file(settings)
    document = apply_overrides(file.content, settings)
    try:
        return read_policy(document)
    except InvalidInput as wrong:
        names = {override.entry: override.name for override in overrides(settings)}
        raise file.refusal(document, wrong, names) from wrong


def policy_file(settings: Settings) -> PolicyFile:
    """Read the policy file that is set, or the shipped one, as it is written."""
    return read_policy_file(settings.policy_file or SHIPPED_POLICY)


@dataclass(frozen=True, slots=True)
class Override:
    """A variable that is set and changes the policy: the dotted entry, and its value there."""

    name: str
    entry: str
    value: str | int


def overrides(settings: Settings) -> tuple[Override, ...]:
    """Return every change that the environment makes to the policy."""
    return tuple(
        Override(name.upper(), entry, value)
        for name, entry in _OVERRIDES.items()
        if (value := getattr(settings, name)) is not None
    )


def apply_overrides(policy_document: Mapping[str, object], settings: Settings) -> dict[str, object]:
    """Return a copy of a parsed policy file in which every override that is set has its place."""
    changed = deepcopy(dict(policy_document))
    for override in overrides(settings):
        _put(changed, tuple(override.entry.split(".")), override.value)
    return changed


def sandbox_refusal(settings: Settings) -> str | None:
    """Return why the sandbox may not start beside these settings, None if it may."""
    if not is_loopback(settings.host):
        return f"HOST is {settings.host}: the sandbox listens on this machine only"
    stripe = settings.stripe_api_key
    if stripe is not None and stripe.get_secret_value().startswith(_LIVE_STRIPE_KEYS):
        return "STRIPE_API_KEY is a live-mode key: the sandbox never stands beside real money"
    mail = settings.smtp_url
    if mail is not None and not is_loopback(read_smtp_url(mail.get_secret_value()).host):
        return "SMTP_URL leads beyond this machine: the sandbox sends no mail to real people"
    return None


def _problems(error: ValidationError) -> list[str]:
    """Return one `NAME: problem` for each wrong value; secrets are never repeated."""
    found = []
    for one in error.errors():
        problem = one["msg"].removeprefix("Value error, ")
        if not one["loc"]:
            found.append(problem)
            continue
        field, value = str(one["loc"][0]), one["input"]
        is_secret = "SecretStr" in str(Settings.model_fields[field].annotation)
        is_shown = isinstance(value, str) and not is_secret
        shown = f" ({value[:_SHOWN_CHARACTERS]!r})" if is_shown else ""
        found.append(f"{field.upper()}: {problem[:1].lower()}{problem[1:]}{shown}")
    return found


def _put(document: dict[str, object], path: tuple[str, ...], value: object) -> None:
    """Set an entry; where the file has no such place, its own check says so."""
    place: object = document
    for key in path[:-1]:
        place = place.get(key) if isinstance(place, dict) else None
    if isinstance(place, dict):
        place[path[-1]] = value
