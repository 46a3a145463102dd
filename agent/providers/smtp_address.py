"""The mail server that SMTP_URL names."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from typing_extensions import override

from agent.domain.errors import InvalidInput

_PORTS = {"smtps": 465, "smtp": 25}
_SUBMISSION_PORT = 587
_HOST = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")


class Encryption(StrEnum):
    """When the link is encrypted."""

    WHOLE = "whole"  # from the first byte on
    REQUIRED = "required"  # by STARTTLS, and nothing is sent without
    OFFERED = "offered"  # by STARTTLS where the server offers it


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """Where mail is handed over, and as whom; `user` is None where nobody signs in."""

    host: str
    port: int
    encryption: Encryption
    user: str | None
    password: str = field(repr=False)

    @override
    def __str__(self) -> str:
        """Return host and port, and nothing that is secret."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_smtp_url(url: str) -> SmtpServer:
    """Read `smtp://[user:password@]host[:port][?starttls=…]` or `smtps://…`.

    STARTTLS is required beyond this machine, and wherever a password is sent; `required` and
    `optional` say otherwise, but never that a password travels in the clear. Raises InvalidInput
    with a reason that repeats nothing of the address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused("is not an address such as smtp://mail.example:587") from None
    if parts.scheme not in _PORTS:
        raise _refused("starts with smtp:// or smtps://")
    if port == 0:
        raise _refused("has the port 0, which nothing listens on")
    if parts.path not in {"", "/"} or parts.fragment:
        raise _refused("is smtp://host:port and no more; write / # ? of a password as %2F %23 %3F")
    host, (user, password) = _host(parts.hostname or ""), _credentials(parts)
    usual = _SUBMISSION_PORT if user and parts.scheme == "smtp" else _PORTS[parts.scheme]
    return SmtpServer(
        host=host,
        port=usual if port is None else port,
        encryption=_encryption(parts, needed=user is not None or not is_loopback(host)),
        user=user,
        password=password,
    )


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host(host: str) -> str:
    try:
        name = host if ":" in host else host.encode("idna").decode("ascii")
    except ValueError:
        name = ""
    if ":" not in name and not _HOST.fullmatch(name):
        raise _refused("names no host")
    return name


def _credentials(parts: SplitResult) -> tuple[str | None, str]:
    if parts.username is None:
        return None, ""
    user, password = unquote(parts.username), unquote(parts.password or "")
    if not user or not password:
        raise _refused("has a user name without a password, or the other way round")
    if not (user + password).isascii() or not (user + password).isprintable():
        raise _refused("has a user name or password that is not plain ASCII")
    return user, password


def _encryption(parts: SplitResult, *, needed: bool) -> Encryption:
    options = parse_qsl(parts.query, keep_blank_values=True)
    if parts.scheme == "smtps" and not options:
        return Encryption.WHOLE
    match options:
        case []:
            return Encryption.REQUIRED if needed else Encryption.OFFERED
        case [("starttls", "required")] if parts.scheme == "smtp":
            return Encryption.REQUIRED
        case [("starttls", "optional")] if parts.scheme == "smtp":
            if parts.username is not None:
                raise _refused("sends a password, so it cannot have starttls=optional")
            return Encryption.OFFERED
        case _:
            raise _refused("knows only ?starttls=required or ?starttls=optional, with smtp://")


def _refused(problem: str) -> InvalidInput:
    return InvalidInput("SMTP_URL", problem)
