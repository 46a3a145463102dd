"""The mails that the sandbox delivered, for the demo page and for testers (http.md)."""

from email import message_from_string, policy

from fastapi import APIRouter

from bot.shapes import rfc3339
from storage import mail_sink
from storage.transaction import Store


def mail_routes(store: Store) -> APIRouter:
    """Make the route, for an application whose errors are problem answers."""
    router = APIRouter()

    @router.get("/mail")
    def mail() -> list[dict[str, object]]:
        with store.transaction(write=False) as tx:
            delivered = mail_sink.book(tx)
        return [_mail(one) for one in delivered]

    return router


def _mail(kept: mail_sink.KeptMail) -> dict[str, object]:
    envelope = kept.envelope
    message = message_from_string(kept.raw, policy=policy.default)
    html = message.get_body(("html",))
    return {
        "id": kept.id,
        "message_id": kept.message_id,
        "from": envelope.sender,
        "to": list(envelope.to),
        "cc": list(envelope.cc),
        "bcc": list(envelope.bcc),
        "subject": envelope.subject,
        "body": envelope.body,
        "html": None if html is None else html.get_content(),
        "headers": {name: str(value) for name, value in message.items()},
        "at": rfc3339(kept.at),
    }
