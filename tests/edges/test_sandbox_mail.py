"""The sandbox's mail: kept once, looked up truthfully, and shown over HTTP."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from agent.ports import Declined, Mail, MailAccepted, NoClearAnswer, NotStarted
from agent.providers.mail_message import Sender, compose
from agent.providers.sink_mail import NoMailer, SinkMailer
from bot.sandbox.guard import SandboxGuard
from bot.sandbox.mail_routes import mail_routes
from bot.sandbox.problems import answer_problems
from storage import mail_sink
from storage.transaction import Store
from tests.support.doubles import START, HandClock
from tests.support.outside import eventually
from tests.support.process import DeskProcess, made_desk
from tests.support.smtp_server import MailServer, mail_server

SENDER = Sender("ShopStream", "support@shopstream.example")
MAIL = Mail(
    message_id="rd-1@supportdesk",
    to=("ben@example.com",),
    cc=("clara@example.com",),
    bcc=("audit@shopstream.example",),
    subject="Grüße",
    body="Hello Ben,\r\n.\r\n日本 🎉",
    date=START,
)
LATER = replace(
    MAIL, message_id="rd-2@supportdesk", subject="Later", cc=(), bcc=(), html="<p>Hello Ben</p>"
)


@pytest.fixture
def mailer(store: Store, clock: HandClock) -> SinkMailer:
    return SinkMailer(store, clock, SENDER)


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    app = FastAPI()
    answer_problems(app)
    app.include_router(mail_routes(store))
    with TestClient(app) as client:
        yield client


def kept(store: Store) -> tuple[mail_sink.KeptMail, ...]:
    with store.transaction(write=False) as tx:
        return mail_sink.book(tx)


def test_a_mail_is_kept_whole(store: Store, mailer: SinkMailer) -> None:
    answer = mailer.send(MAIL)
    (mail,) = kept(store)
    assert answer == MailAccepted(MAIL.message_id, f"250 kept as {mail.id}")
    assert mail.message_id == MAIL.message_id
    assert mail.envelope == mail_sink.Envelope(
        SENDER.address, MAIL.to, MAIL.cc, MAIL.bcc, MAIL.subject, MAIL.body
    )
    assert mail.raw.encode() == compose(MAIL, SENDER).raw
    assert mail.at == START


def test_the_same_message_id_is_kept_once(
    store: Store, mailer: SinkMailer, clock: HandClock
) -> None:
    first = mailer.send(MAIL)
    clock.advance(minutes=1)
    assert mailer.send(replace(MAIL, subject="Another")) == first
    (mail,) = kept(store)
    assert (mail.envelope.subject, mail.at) == (MAIL.subject, START)


def test_many_at_once_keep_one(store: Store, mailer: SinkMailer) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(lambda _: mailer.send(MAIL), range(16)))
    assert len(answers) == 1
    assert isinstance(answers.pop(), MailAccepted)
    assert len(kept(store)) == 1


def test_a_mail_is_found_once_it_is_there(mailer: SinkMailer) -> None:
    assert mailer.find(MAIL.message_id) is None
    sent = mailer.send(MAIL)
    assert mailer.find(MAIL.message_id) == sent
    assert mailer.find(LATER.message_id) is None


def test_what_no_server_would_be_given_is_refused_here_too(
    store: Store, mailer: SinkMailer
) -> None:
    answer = mailer.send(replace(MAIL, subject="Hi\r\nBcc: thief@evil.example"))
    assert isinstance(answer, Declined)
    assert answer.code == "invalid"
    assert kept(store) == ()
    assert mailer.find(MAIL.message_id) is None


def test_without_a_way_out_nothing_leaves_and_nobody_can_be_asked() -> None:
    nowhere = NoMailer()
    assert not nowhere.available
    assert isinstance(nowhere.send(MAIL), NotStarted)
    assert isinstance(nowhere.find(MAIL.message_id), NoClearAnswer)


def test_the_sink_is_a_way_out(mailer: SinkMailer) -> None:
    assert mailer.available


def test_delivered_mails_are_listed_the_newest_last(
    client: TestClient, mailer: SinkMailer, clock: HandClock
) -> None:
    assert client.get("/mail").json() == []
    mailer.send(MAIL)
    clock.advance(seconds=1.5)
    mailer.send(LATER)
    first, second = client.get("/mail").json()
    assert first.pop("headers") == {
        "From": "ShopStream <support@shopstream.example>",
        "To": "ben@example.com",
        "Cc": "clara@example.com",
        "Subject": "Grüße",
        "Date": "Sun, 29 Nov 2026 12:00:00 +0000",
        "Message-ID": "<rd-1@supportdesk>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "base64",
        "MIME-Version": "1.0",
    }
    assert first.pop("id").startswith("mail_")
    assert first == {
        "message_id": "rd-1@supportdesk",
        "from": "support@shopstream.example",
        "to": ["ben@example.com"],
        "cc": ["clara@example.com"],
        "bcc": ["audit@shopstream.example"],
        "subject": "Grüße",
        "body": "Hello Ben,\r\n.\r\n日本 🎉",
        "html": None,
        "at": "2026-11-29T12:00:00Z",
    }
    assert (second["subject"], second["at"]) == ("Later", "2026-11-29T12:00:01.500000Z")
    assert (second["cc"], second["bcc"], second["html"].strip()) == ([], [], "<p>Hello Ben</p>")


def test_other_machines_and_other_sites_see_no_mail(store: Store, mailer: SinkMailer) -> None:
    mailer.send(MAIL)
    inner = FastAPI()
    inner.include_router(mail_routes(store))
    app = FastAPI()
    app.mount("/sandbox", SandboxGuard(inner))
    with TestClient(app, base_url="http://localhost:3000") as client:
        assert len(client.get("/sandbox/mail").json()) == 1
        rebound = client.get("/sandbox/mail", headers={"host": "evil.example"})
        foreign = client.get("/sandbox/mail", headers={"origin": "http://evil.example"})
    assert (rebound.status_code, foreign.status_code) == (421, 403)


def _hears_by_mail(desk: DeskProcess, server: MailServer) -> None:
    """Let a customer ask, close the tab, and hear by mail what the team decided."""
    chat = desk.opens_chat("cus_clara")
    asked = chat.parks("The chair in ORD-1001 arrived broken, I want my money back")
    desk.decides("approve", asked, desk.staff("ana"))
    eventually(lambda: server.mails, "a mail about the outcome")
    (mail,) = server.mails
    assert mail.recipients == ("clara.nguyen@example.com",)
    message = message_from_bytes(mail.raw, policy=policy.default)
    assert message["Subject"] == "Refund for order ORD-1001: done"
    assert message["Reply-To"] == "Shop <help@shop.example>"
    for kind in ("plain", "html"):
        part = message.get_body((kind,))
        assert part is not None
        assert "https://shop.example/help#support-desk" in part.get_content()


def test_the_desk_says_at_its_start_where_mail_goes(tmp_path: Path) -> None:
    with made_desk(tmp_path) as desk, mail_server() as server:
        desk.start()
        assert "mail      stays here: GET /sandbox/mail" in desk.log
        assert desk.client.get("/sandbox/mail").json() == []
        desk.stop()
        desk.env = {
            **desk.env,
            "SMTP_URL": server.url,
            "MAIL_FROM": "Shop <help@shop.example>",
            "MAIL_UNREAD_AFTER_S": "1",
            "SHOP_URL": "https://shop.example/help",
        }
        desk.start()
        _hears_by_mail(desk, server)
        through = f"leaves through 127.0.0.1:{server.port} as Shop <help@shop.example>"
        assert f"mail      {through}" in desk.log
        desk.stop()
        desk.env = {**desk.env, "SMTP_URL": "smtp://me:hunter2@mail.example"}
        assert desk.launch().wait(60) == 2
        assert "SMTP_URL leads beyond this machine" in desk.log
        assert "hunter2" not in desk.log
        desk.end()
