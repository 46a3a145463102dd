"""The payment provider's signature over its events, as Stripe makes it."""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

# Both ways: a stamp from the future would stay good for ever (facts: SDKs refuse only old ones).
TOLERANCE = timedelta(seconds=300)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"[0-9]{1,11}")


class BadSignature(Exception):
    """Nobody with one of the secrets signed this just now; the sentence says what is wrong."""


@dataclass(frozen=True, slots=True)
class WebhookKeys:
    """The signing secrets of the provider's endpoint: one, or two while they are exchanged."""

    secrets: tuple[str, ...] = field(repr=False)

    def check(self, header: str, body: bytes, now: datetime) -> None:
        """Check `t=…,v1=…[,v1=…]` over the raw bytes; raises BadSignature."""
        stamps, signatures = _read(header)
        if len(stamps) != 1 or _SECONDS.fullmatch(stamps[0]) is None or not signatures:
            raise BadSignature("Stripe-Signature: send one t and at least one v1.")
        signed = f"{stamps[0]}.".encode() + body
        if not any(
            hmac.compare_digest(_signature(secret, signed), given.encode())
            for secret in self.secrets
            for given in signatures
        ):
            raise BadSignature("Stripe-Signature: no v1 is a signature over this body.")
        if abs(now - (_EPOCH + timedelta(seconds=int(stamps[0])))) > TOLERANCE:
            raise BadSignature("Stripe-Signature: t is not the present time.")


def _signature(secret: str, signed: bytes) -> bytes:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()


def _read(header: str) -> tuple[list[str], list[str]]:
    """Return the stamps and the signatures; those of other schemes count for nothing."""
    stamps, signatures = [], []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        match name:
            case "t":
                stamps.append(value)
            case "v1":
                signatures.append(value)
            case _:
                pass
    return stamps, signatures
