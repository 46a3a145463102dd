"""Settings: the only reader of the environment, and of the policy file it points to."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import jwt
import yaml
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
from typing_extensions import override

import agent
from agent.domain.errors import InvalidInput
from agent.domain.money import parse_money
from agent.domain.policy import Policy, Seconds, read_policy

# RFC 7518 §3.2: a key of HS256 has at least the size of the hash.
_MIN_JWT_SECRET_BYTES = 32
_DATABASES = ("sqlite:///", "postgresql://", "postgresql+psycopg://")
_LIVE_STRIPE_KEYS = ("sk_live_", "rk_live_")
_SHOWN_CHARACTERS = 40
_SHIPPED_POLICY = Path(agent.__file__).with_name("policy.yml")


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


def _origins(text: object) -> object:
    return tuple(text.replace(",", " ").split()) if isinstance(text, str) else text


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


UsdAmount = Annotated[str, AfterValidator(_usd)]
ShareText = Annotated[str, AfterValidator(_share)]
Origins = Annotated[
    tuple[Annotated[str, AfterValidator(_origin)], ...], NoDecode, BeforeValidator(_origins)
]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_known_database)]
JwtSecret = Annotated[SecretStr, AfterValidator(_long_secret)]
# No secret, but people paste the wrong half: it is shown as little as one.
RsaKey = Annotated[SecretStr, AfterValidator(_rsa_key)]


class Settings(BaseSettings):
    """Everything that one may set. A name that is set to nothing counts as not set."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    host: Annotated[str, Field(min_length=1, max_length=255)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 3000
    database_url: DatabaseUrl = SecretStr("sqlite:///var/desk.db")
    policy_file: Path | None = None

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
    slack_api_url: HttpUrl = "https://slack.com/api/"
    slack_approvals_channel: str | None = None
    slack_oncall_channel: str | None = None

    openai_api_key: SecretStr | None = None
    openai_base_url: HttpUrl | None = None
    openai_model: str = "gpt-5-mini"

    widget_jwt_secret: JwtSecret | None = None
    widget_jwt_public_key: RsaKey | None = None
    widget_origins: Origins = ()

    # Read for one purpose so far: the sandbox does not start beside them.
    stripe_api_key: SecretStr | None = None
    smtp_url: SecretStr | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.widget_jwt_secret is not None and self.widget_jwt_public_key is not None:
            raise ValueError(
                "WIDGET_JWT_PUBLIC_KEY: set it or WIDGET_JWT_SECRET, not both: the desk accepts "
                "one algorithm"
            )
        if self.slack_bot_token is not None:
            for name in ("slack_signing_secret", "slack_approvals_channel", "slack_oncall_channel"):
                if getattr(self, name) is None:
                    raise ValueError(f"{name.upper()}: is needed with SLACK_BOT_TOKEN")
        return self

    @property
    def is_sandbox(self) -> bool:
        """Return whether the desk talks to the stand-in instead of Slack."""
        return self.slack_bot_token is None

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

    Raises InvalidInput naming the file, the line and the entry that is wrong.
    """
    file = _read_policy_file(settings.policy_file or _SHIPPED_POLICY)
    try:
        return read_policy(apply_overrides(file.content, settings))
    except InvalidInput as error:
        raise InvalidInput("POLICY_FILE", f"{file.place(error.field)}: {error}") from error


def apply_overrides(policy_document: Mapping[str, object], settings: Settings) -> dict[str, object]:
    """Return a copy of a parsed policy file in which every override that is set has its place."""
    changed = deepcopy(dict(policy_document))
    for path, value in (
        (("refunds", "auto_limit", "USD"), settings.refund_auto_limit),
        (("refunds", "confidence_min"), settings.confidence_min),
        (("refunds", "decide_within_s"), settings.refund_decide_within_s),
        (("refunds", "use_within_s"), settings.refund_use_within_s),
        (("breaker", "max_refunds"), settings.breaker_max_refunds),
        (("breaker", "window_s"), settings.breaker_window_s),
        (("breaker", "cooldown_s"), settings.breaker_cooldown_s),
        (("max_revisions",), settings.max_revisions),
    ):
        if value is not None:
            _put(changed, path, value)
    return changed


def sandbox_refusal(settings: Settings) -> str | None:
    """Return why the sandbox may not start beside these settings, None if it may."""
    if not _is_loopback(settings.host):
        return f"HOST is {settings.host}: the sandbox listens on this machine only"
    stripe = settings.stripe_api_key
    if stripe is not None and stripe.get_secret_value().startswith(_LIVE_STRIPE_KEYS):
        return "STRIPE_API_KEY is a live-mode key: the sandbox never stands beside real money"
    mail = settings.smtp_url
    if mail is not None and not _is_loopback(_host_of(mail.get_secret_value())):
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


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class _PolicyFile:
    """A parsed policy file, with the tree that knows on which line each entry stands."""

    path: Path
    content: dict[str, object]
    root: yaml.Node

    def place(self, entry: str) -> str:
        """Return the file and the line of a dotted entry, or of the nearest one around it."""
        node, line = self.root, self.root.start_mark.line
        for part in entry.split("."):
            inner = _inner(node, part)
            if inner is None:
                break
            line, node = inner
        return f"{self.path}, line {line + 1}"


class _UniqueKeys(yaml.SafeLoader):
    """YAML without tags that run code, and without keys that silently win over each other."""

    @override
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {name!r} appears twice", problem_mark=key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)


def _read_policy_file(path: Path) -> _PolicyFile:
    try:
        loader = _UniqueKeys(path.read_bytes())
        root = loader.get_single_node()
        content = None if root is None else loader.construct_document(root)
    except OSError as error:
        raise InvalidInput("POLICY_FILE", f"{path} cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = 0 if error.problem_mark is None else error.problem_mark.line + 1
        raise InvalidInput("POLICY_FILE", f"{path}, line {line}: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InvalidInput("POLICY_FILE", f"{path} is not YAML: {error}") from error
    if root is None or not isinstance(content, dict):
        raise InvalidInput("POLICY_FILE", f"{path} holds no entries")
    return _PolicyFile(path, content, root)


def _inner(node: yaml.Node, part: str) -> tuple[int, yaml.Node] | None:
    """Return the line on which an entry of `node` begins, and its value."""
    if isinstance(node, yaml.MappingNode):
        found = ((key.start_mark.line, value) for key, value in node.value if key.value == part)
        return next(found, None)
    if isinstance(node, yaml.SequenceNode) and part.isdecimal() and int(part) < len(node.value):
        item: yaml.Node = node.value[int(part)]
        return item.start_mark.line, item
    return None
