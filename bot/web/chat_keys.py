"""The shop's signature under a customer's token."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import jwt

from agent.domain.ids import CustomerId

AUDIENCE = "supportdesk"
LONGEST_LIFE = timedelta(minutes=15)
_LEEWAY = timedelta(seconds=10)
_MOST_SUBJECT = 200
# Times are checked here, against the desk's own clock.
_OPTIONS: jwt.types.Options = {
    "require": ["aud", "exp", "sub"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
}


class BadToken(Exception):
    """The token proves nobody; the sentence says why and repeats nothing of it."""


@dataclass(frozen=True, slots=True)
class ChatKeys:
    """One algorithm with one key: a shared secret (HS256) or the shop's public key (RS256).

    With neither, no token is good and every visitor is anonymous.
    """

    secret: str | None = field(default=None, repr=False)
    public_key: str | None = None

    def customer_of(self, token: str, now: datetime) -> CustomerId:
        """Return the shop's customer a token stands for; raises BadToken."""
        claims = self._claims(token)
        _check_times(claims, now)
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _MOST_SUBJECT:
            raise BadToken("The token names no customer.")
        if not subject.isprintable():
            raise BadToken("The token names no customer.")
        return CustomerId(subject)

    def _claims(self, token: str) -> dict[str, object]:
        # The algorithm is ours to say, never the token's.
        if self.secret is not None:
            key, algorithm = self.secret, "HS256"
        elif self.public_key is not None:
            key, algorithm = self.public_key, "RS256"
        else:
            raise BadToken("The desk has no key to check customers' tokens with.")
        try:
            claims: dict[str, object] = jwt.decode(
                token, key, algorithms=[algorithm], audience=AUDIENCE, options=_OPTIONS
            )
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise BadToken("The token is not one of the shop's.") from None
        return claims


def _check_times(claims: dict[str, object], now: datetime) -> None:
    seconds, leeway = now.timestamp(), _LEEWAY.total_seconds()
    longest = LONGEST_LIFE.total_seconds()
    expires, issued = _number(claims["exp"]), _number(claims.get("iat", seconds))
    begins = _number(claims.get("nbf", seconds))
    # Each is written so that NaN fails it.
    if not seconds < expires + leeway:
        raise BadToken("The token has expired.")
    if not (begins <= seconds + leeway and issued <= seconds + leeway):
        raise BadToken("The token is not valid yet.")
    if not (expires - issued <= longest and expires <= seconds + longest + leeway):
        raise BadToken("The token lives longer than 15 minutes.")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadToken("The token's times are no numbers.")
    try:
        return float(value)
    except OverflowError:
        raise BadToken("The token's times are no numbers.") from None
