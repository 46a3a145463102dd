"""Signed heads: what the chains of the trail were at a moment, so that a cut tail shows.

A head names every chain that has grown since the head before, with its newest event. It holds the
hash of the head before and is signed with a key that the database does not know.
"""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass

from agent.domain.audit import GENESIS
from agent.domain.errors import InvalidInput
from agent.domain.payload import canonical

# So many chains, with ids of twice the usual length, fit into what `canonical` takes.
MAX_CHAINS = 150
_HEAD_DOMAIN = b"supportdesk/head/v1\n"


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest event of a chain."""

    chain: str
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """A signed head; `body` is the text that is signed, `at` is in microseconds UTC."""

    number: int
    at: int
    body: str
    signature: str


def make_head(before: Head | None, tips: Sequence[Tip], at: int, key: bytes) -> Head:
    """Return the head that follows `before`, over at most `MAX_CHAINS` chains."""
    number = 1 if before is None else before.number + 1
    body = canonical(
        {
            "number": number,
            "at": at,
            "previous": GENESIS if before is None else head_hash(before.body),
            "chains": {tip.chain: {"seq": tip.seq, "hash": tip.hash} for tip in tips},
        }
    )
    return Head(number, at, body, signature(key, body))


def head_hash(body: str) -> str:
    """Return what the next head binds: sha256, in hex, over the text of this one."""
    return hashlib.sha256(_HEAD_DOMAIN + _bytes(body)).hexdigest()


def signature(key: bytes, body: str) -> str:
    """Return the HMAC-SHA256 of the text, in hex."""
    return hmac.new(key, _HEAD_DOMAIN + _bytes(body), hashlib.sha256).hexdigest()


def to_line(head: Head) -> str:
    """Return the head as one line of JSON, for a copy outside the database."""
    return json.dumps(
        {"number": head.number, "at": head.at, "body": head.body, "signature": head.signature}
    )


def from_line(line: str) -> Head:
    """Read a line of a copy; raises InvalidInput when it is not a head's."""
    try:
        match json.loads(line):
            case {
                "number": int(number),
                "at": int(at),
                "body": str(body),
                "signature": str(signed),
            }:
                return Head(number, at, body, signed)
            case _:
                raise InvalidInput("head", "is not a signed head")
    except (ValueError, RecursionError) as error:
        raise InvalidInput("head", "is not JSON") from error


def _bytes(body: str) -> bytes:
    # Half a surrogate pair stands for a damaged byte; it has a hash, which fits nothing.
    return body.encode(errors="surrogatepass")
