"""SMTP_URL: what it says, what it means, and what is refused."""

import pytest

from agent.domain.errors import InvalidInput
from agent.providers.smtp_address import (
    Encryption,
    SmtpServer,
    is_loopback,
    read_smtp_url,
)

WHOLE, REQUIRED, OFFERED = Encryption.WHOLE, Encryption.REQUIRED, Encryption.OFFERED


@pytest.mark.parametrize(
    ("url", "host", "port", "encryption", "login"),
    [
        ("smtp://127.0.0.1:2525", "127.0.0.1", 2525, OFFERED, (None, "")),
        ("smtp://localhost", "localhost", 25, OFFERED, (None, "")),
        ("smtp://[::1]:2525/", "::1", 2525, OFFERED, (None, "")),
        ("SMTP://Mail.Example", "mail.example", 25, REQUIRED, (None, "")),
        ("smtp://10.0.0.7:25", "10.0.0.7", 25, REQUIRED, (None, "")),
        ("smtp://relay:25?starttls=optional", "relay", 25, OFFERED, (None, "")),
        ("smtp://localhost?starttls=required", "localhost", 25, REQUIRED, (None, "")),
        ("smtp://me:pw@localhost", "localhost", 587, REQUIRED, ("me", "pw")),
        ("smtp://me%40shop.example:p%2F%23%3F@m.example:25", "m.example", 25, REQUIRED,
         ("me@shop.example", "p/#?")),
        ("smtps://mail.example", "mail.example", 465, WHOLE, (None, "")),
        ("smtps://me:pw@127.0.0.1:4650", "127.0.0.1", 4650, WHOLE, ("me", "pw")),
        ("smtp://bücher.example:587", "xn--bcher-kva.example", 587, REQUIRED, (None, "")),
    ],
)  # fmt: skip
def test_an_address_is_read(
    url: str, host: str, port: int, encryption: Encryption, login: tuple[str | None, str]
) -> None:
    assert read_smtp_url(url) == SmtpServer(host, port, encryption, *login)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", "starts with smtp:// or smtps://"),
        ("https://mail.example", "starts with smtp:// or smtps://"),
        ("smtp:mail.example", "and no more"),
        ("smtp://", "names no host"),
        ("smtp://:2525", "names no host"),
        ("smtp://mail example", "names no host"),
        ("smtp://a..b", "names no host"),
        (f"smtp://{'a' * 64}.example", "names no host"),
        ("smtp://[::1", "is not an address"),
        ("smtp://mail.example:smtp", "is not an address"),
        ("smtp://mail.example:70000", "is not an address"),
        ("smtp://mail.example:0", "port 0"),
        ("smtp://mail.example/box", "and no more"),
        ("smtp://mail.example#box", "and no more"),
        ("smtp://me:hunter2/x@mail.example", "is not an address"),
        ("smtp://me@mail.example", "without a password"),
        ("smtp://me:@mail.example", "without a password"),
        ("smtp://:hunter2@mail.example", "the other way round"),
        ("smtp://me:hunter2%C3%A9@mail.example", "not plain ASCII"),
        ("smtp://me:hunter2%0D%0A@mail.example", "not plain ASCII"),
        ("smtp://mail.example?starttls=never", "knows only"),
        ("smtp://mail.example?starttls", "knows only"),
        ("smtp://mail.example?timeout=5", "knows only"),
        ("smtp://mail.example?starttls=required&starttls=optional", "knows only"),
        ("smtps://mail.example?starttls=optional", "knows only"),
        ("smtp://me:hunter2@mail.example?starttls=optional", "sends a password"),
    ],
)
def test_another_address_is_refused_without_repeating_it(url: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_smtp_url(url)
    assert refused.value.field == "SMTP_URL"
    assert reason in refused.value.problem
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_password_is_in_no_picture() -> None:
    server = read_smtp_url("smtp://me:hunter2@mail.example")
    assert str(server) == "mail.example:587"
    assert "hunter2" not in repr(server)
    assert str(read_smtp_url("smtp://[::1]:2525")) == "[::1]:2525"


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("mail.example", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_this_machine_is_known_by_its_own_addresses(host: str, here: bool) -> None:
    assert is_loopback(host) is here
