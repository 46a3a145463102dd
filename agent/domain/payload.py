"""What is bound, shown and executed is one thing: canonical bytes and their hash.

Canonical form is RFC 8785. Payloads hold no floats, so integers within 2^53, strings, booleans,
null, lists and objects are all there is.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import NoReturn, TypeAlias

import rfc8785

from agent.domain.errors import InvalidPayload
from agent.domain.ids import ApprovalId

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"
Payload: TypeAlias = dict[str, Json]

MAX_PAYLOAD_BYTES = 32 * 1024
# Far deeper than any tool's arguments, far from the interpreter's limit.
MAX_DEPTH = 32
_APPROVAL_DOMAIN = b"supportdesk/approval/v1\n"
_PROPOSAL_DOMAIN = b"supportdesk/proposal/v1\n"


def parse_strict(text: str) -> Payload:
    """Read one JSON object; raises InvalidPayload naming what a lenient reader would hide.

    Refused: duplicate keys, floats, NaN and infinities, lone surrogates, integers beyond 2^53,
    anything but an object, and more than `MAX_PAYLOAD_BYTES`.
    """
    if len(text.encode(errors="surrogatepass")) > MAX_PAYLOAD_BYTES:
        raise InvalidPayload("payload", f"larger than {MAX_PAYLOAD_BYTES} bytes")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except (ValueError, RecursionError) as error:
        # Besides bad JSON: Python refuses whole numbers of over 4,300 digits.
        raise InvalidPayload("payload", "not valid JSON") from error
    if not isinstance(value, dict):
        raise InvalidPayload("payload", "not a JSON object")
    canonical(value)
    return value


def canonical(value: Mapping[str, Json]) -> str:
    """Return the RFC 8785 text of a payload; raises InvalidPayload if it has none."""
    _refuse_floats(value, MAX_DEPTH)
    try:
        data = rfc8785.dumps(dict(value))
    except (rfc8785.CanonicalizationError, UnicodeError) as error:
        raise InvalidPayload("payload", str(error)) from error
    if len(data) > MAX_PAYLOAD_BYTES:
        raise InvalidPayload("payload", f"larger than {MAX_PAYLOAD_BYTES} bytes")
    return data.decode()


def payload_hash(
    *, tool: str, payload: Mapping[str, Json], approval_id: ApprovalId, policy_version: str
) -> str:
    """Bind one row: sha256, in hex, over the domain tag and everything a decision is about."""
    bound = canonical(
        {
            "tool": tool,
            "payload": dict(payload),
            "approval_id": approval_id,
            "policy_version": policy_version,
        }
    )
    return hashlib.sha256(_APPROVAL_DOMAIN + bound.encode()).hexdigest()


def proposal_key(*, customer_id: str, tool: str, payload: Mapping[str, Json]) -> str:
    """Return the hash under which identical proposals of one customer meet."""
    same = canonical({"customer": customer_id, "tool": tool, "payload": dict(payload)})
    return hashlib.sha256(_PROPOSAL_DOMAIN + same.encode()).hexdigest()


def _unique_keys(pairs: list[tuple[str, Json]]) -> Payload:
    found: Payload = {}
    for key, value in pairs:
        if key in found:
            raise InvalidPayload("payload", f"the key {key[:60]!r} appears twice")
        found[key] = value
    return found


def _no_float(text: str) -> NoReturn:
    raise InvalidPayload("payload", f"{text[:40]} is not allowed: numbers are whole")


def _refuse_floats(value: object, depth: int) -> None:
    if depth < 0:
        raise InvalidPayload("payload", f"nested more than {MAX_DEPTH} deep")
    match value:
        case float():
            raise InvalidPayload("payload", "numbers are whole")
        case dict():
            for item in value.values():
                _refuse_floats(item, depth - 1)
        case list():
            for item in value:
                _refuse_floats(item, depth - 1)
        case _:
            return
