"""A real SMTP server for tests, which fails at the step and in the way that a test orders."""

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from urllib.parse import quote

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typing_extensions import override

Step = Literal[
    "CONNECT",  # instead of the greeting
    "EHLO",
    "STARTTLS",
    "AUTH",
    "MAIL",
    "RCPT",
    "DATA",  # instead of the go-ahead
    "CONTENT",  # after the go-ahead, before the final dot
    "END",  # after the final dot; a reply of 2xx, DROP or STALL still delivers
    "RSET",
    "QUIT",
]
# What a server may do instead of answering; anything else is the line it answers.
DROP, STALL = "drop", "stall"
Encryption = Literal["none", "offered", "required", "whole"]

# Faults by name, each ready for `mail_server(...)`.
REFUSE_RCPT: Mapping[Step, str] = {"RCPT": "550 5.1.1 no such user here"}
REFUSE_DATA: Mapping[Step, str] = {"END": "554 5.7.1 that looks like spam"}
BUSY_AFTER_DATA: Mapping[Step, str] = {"END": "451 4.3.0 try again later"}
DROP_AFTER_DATA: Mapping[Step, str] = {"END": DROP}
STALL_AFTER_DATA: Mapping[Step, str] = {"END": STALL}
REFUSE_CONNECTION: Mapping[Step, str] = {"CONNECT": "421 4.3.2 closing for maintenance"}


@dataclass(frozen=True, slots=True)
class ReceivedMail:
    """One mail for which the server took responsibility."""

    sender: str
    recipients: tuple[str, ...]
    options: tuple[str, ...]
    raw: bytes
    encrypted: bool
    user: str | None

    @property
    def message(self) -> EmailMessage:
        """Return the message as a reader's program parses it."""
        return message_from_bytes(self.raw, policy=policy.default)

    @property
    def text(self) -> str:
        """Return the decoded body, its lines ended by a line feed."""
        content = self.message.get_content()
        assert isinstance(content, str)
        return content.replace("\r\n", "\n")


@dataclass
class MailServer:
    """The running server: `mails` are those delivered, `commands` the verbs it was sent."""

    port: int = 0
    user: str | None = None
    password: str | None = None
    is_tls: bool = False
    faults: dict[Step, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    mails: list[ReceivedMail] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Return the address for SMTP_URL, with the credentials that the server wants."""
        scheme = "smtps" if self.is_tls else "smtp"
        login = [quote(part, safe="") for part in (self.user, self.password) if part is not None]
        who = f"{':'.join(login)}@" if login else ""
        return f"{scheme}://{who}127.0.0.1:{self.port}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that vouches for itself: what the server shows, and who believes it."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@contextmanager
def mail_server(
    faults: Mapping[Step, str] | None = None,
    *,
    refused: Mapping[str, str] | None = None,
    encryption: Encryption = "none",
    certificate: Certificate | None = None,
    login: tuple[str, str] | None = None,
    smtputf8: bool = True,
) -> Iterator[MailServer]:
    """Serve on a free port until the block ends.

    `faults` says what happens at a step, `refused` what is answered to a single recipient; both
    may be changed while it runs. `login` is the user and password without which no mail is taken.
    """
    user, password = login or (None, None)
    server = MailServer(
        user=user,
        password=password,
        is_tls=encryption == "whole",
        faults=dict(faults or {}),
        refused=dict(refused or {}),
    )
    tls = None if certificate is None else certificate.server
    connect = partial(
        _Connection,
        server,
        hostname="mail.test",
        enable_SMTPUTF8=smtputf8,
        tls_context=tls if encryption in {"offered", "required"} else None,
        require_starttls=encryption == "required",
        auth_required=login is not None,
        auth_in_clear=encryption not in {"offered", "required"},
        authenticator=partial(_authenticate, server),
    )
    with _serving(server, connect, tls if encryption == "whole" else None):
        yield server


@contextmanager
def certificate_for(*names: str) -> Iterator[Certificate]:
    """Make a certificate for host names and addresses, and contexts that use and trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Mail of the tests")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([_alternative(one) for one in names]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        both = Path(folder) / "both.pem"
        both.write_bytes(secret + pem)
        server.load_cert_chain(both)
    yield Certificate(server, ssl.create_default_context(cadata=pem.decode()))


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class _Connection(SMTP):
    """One client; every command passes `_command`, which does what the test has ordered."""

    def __init__(self, house: MailServer, *, auth_in_clear: bool, **options: Any) -> None:
        super().__init__(_Inbox(house), auth_require_tls=True, **options)
        # Set behind the library's back, which warns; it does not know of TLS around everything.
        self._auth_require_tls = not auth_in_clear
        self._house = house
        self._greeted = False
        for verb, method in self._smtp_methods.items():
            self._smtp_methods[verb] = partial(self._command, verb, method)

    @override
    async def push(self, status: Any) -> None:
        if not self._greeted:
            self._greeted = True
            if await self.goes_wrong("CONNECT"):
                return
        await super().push(status)
        if str(status).startswith("354 ") and "CONTENT" in self._house.faults:
            await self.goes_wrong("CONTENT")

    async def goes_wrong(self, step: Any) -> bool:
        """Do what was ordered for a step, if anything was."""
        what = self._house.faults.get(step)
        if what is None:
            return False
        assert isinstance(self.transport, asyncio.WriteTransport)
        if what == DROP:
            self.transport.abort()
        elif what == STALL:
            await asyncio.Event().wait()
        else:
            await super().push(what)
            if what.startswith("421"):
                self.transport.close()
        return True

    async def _command(self, verb: str, method: Any, argument: str | None) -> None:
        self._house.commands.append(verb)
        if not await self.goes_wrong(verb):
            await method(argument)


class _Inbox:
    """Keeps what is delivered."""

    def __init__(self, house: MailServer) -> None:
        self._house = house

    async def handle_RCPT(  # noqa: N802 - the library's name
        self,
        _server: SMTP,
        _session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        refusal = self._house.refused.get(address)
        if refusal is not None:
            return refusal
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 Ok"

    async def handle_DATA(  # noqa: N802 - the library's name
        self, server: _Connection, session: Session, envelope: Envelope
    ) -> str:
        end = self._house.faults.get("END", "250 2.0.0 Ok: queued as 4F2A")
        if end[:1] not in {"4", "5"}:
            assert isinstance(envelope.content, bytes)
            login: object = session.auth_data
            mail = ReceivedMail(
                sender=envelope.mail_from or "",
                recipients=tuple(envelope.rcpt_tos),
                options=tuple(envelope.mail_options),
                raw=envelope.content,
                encrypted=session.ssl is not None or self._house.is_tls,
                user=login.login.decode() if isinstance(login, LoginPassword) else None,
            )
            self._house.mails.append(mail)
        if end in {DROP, STALL}:
            await server.goes_wrong("END")
        return end


def _authenticate(
    house: MailServer,
    _server: SMTP,
    _session: Session,
    _envelope: Envelope,
    _mechanism: str,
    data: object,
) -> AuthResult:
    assert isinstance(data, LoginPassword)
    right = (data.login, data.password) == (
        (house.user or "").encode(),
        (house.password or "").encode(),
    )
    return AuthResult(success=right, handled=False, auth_data=data)


@contextmanager
def _serving(
    server: MailServer, connect: Callable[..., _Connection], tls: ssl.SSLContext | None
) -> Iterator[None]:
    """Run an event loop in a thread; at the end, clients that are kept waiting are let go."""
    loop = asyncio.new_event_loop()
    connections: list[_Connection] = []

    def connected() -> _Connection:
        connections.append(connect(loop=loop))
        return connections[-1]

    listening = loop.run_until_complete(loop.create_server(connected, "127.0.0.1", 0, ssl=tls))
    server.port = listening.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(_close(listening, connections))
        loop.close()


async def _close(listening: asyncio.Server, connections: list[_Connection]) -> None:
    listening.close()
    for connection in connections:
        if isinstance(connection.transport, asyncio.WriteTransport):
            connection.transport.abort()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await listening.wait_closed()
