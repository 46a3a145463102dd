"""A look at the mail server: can one sign in. Nothing is sent."""

from agent.domain.errors import InvalidInput
from agent.providers.mail_message import read_sender
from agent.providers.smtp_address import read_smtp_url
from agent.providers.smtp_mail import SmtpMailer
from bot.findings import Finding, failed, fine, warning
from bot.settings import Settings


def look(settings: Settings) -> Finding:
    """Connect, greet, encrypt and sign in as for a mail, and leave again."""
    if settings.smtp_url is None:
        if settings.is_sandbox:
            return fine("mail", "the sandbox keeps it: GET /sandbox/mail")
        remedy = "Set SMTP_URL and MAIL_FROM, if the agent is to propose e-mails."
        return warning("mail", "there is no server, so no e-mail is proposed", remedy)
    server = read_smtp_url(settings.smtp_url.get_secret_value())
    try:
        mailer = SmtpMailer(server, read_sender(settings.mail_from or ""))
    except InvalidInput as wrong:
        return failed("mail", f"MAIL_FROM {wrong.problem}", "Correct MAIL_FROM.")
    problem = mailer.try_out()
    if problem is None:
        return fine("mail", f"{server} lets {settings.mail_from} in")
    remedy = "See that SMTP_URL has the right host, port, user and password."
    return failed("mail", f"{server}: {problem}", remedy)
