"""How mail leaves and what customers are mailed, as the settings say."""

from datetime import timedelta

from agent.desk import CustomerMail
from agent.ports import Clock, Mailer
from agent.providers.mail_message import read_sender
from agent.providers.sink_mail import NoMailer, SinkMailer
from agent.providers.smtp_address import read_smtp_url
from agent.providers.smtp_mail import SmtpMailer
from bot.sandbox.world import MAIL_FROM
from bot.settings import Settings
from storage.transaction import Store


def mailer_for(settings: Settings, store: Store, clock: Clock) -> Mailer:
    """Return the way out for mail: a server, the sandbox itself, or none."""
    sender = read_sender(settings.mail_from or MAIL_FROM)
    if settings.smtp_url is not None:
        return SmtpMailer(read_smtp_url(settings.smtp_url.get_secret_value()), sender)
    return SinkMailer(store, clock, sender) if settings.is_sandbox else NoMailer()


def customer_mail_for(settings: Settings) -> CustomerMail | None:
    """Return how customers hear by mail of what they have not read, None where they do not."""
    if settings.mail_unread_after_s == 0:
        return None
    page = settings.shop_url or settings.public_url
    if page is None and settings.is_sandbox:
        page = f"http://{url_host(settings.host)}:{settings.port}/shop"
    return CustomerMail(
        after=timedelta(seconds=settings.mail_unread_after_s),
        link=None if page is None else f"{page}#support-desk",
        reply_to=settings.mail_reply_to or settings.mail_from or MAIL_FROM,
    )


def mail_words(settings: Settings) -> str:
    """Return in words where mail goes."""
    if settings.smtp_url is not None:
        server = read_smtp_url(settings.smtp_url.get_secret_value())
        return f"leaves through {server} as {settings.mail_from}"
    if settings.is_sandbox:
        return "stays here: GET /sandbox/mail (no SMTP_URL)"
    return "nowhere to go: the agent proposes no e-mail (no SMTP_URL)"


def url_host(host: str) -> str:
    """Return a host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
