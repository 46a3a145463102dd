"""What holds after whatever happened (design.md §20), read from the database and from the book.

Everything is computed anew from the rows: nothing here calls the code that wrote them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from tests.support.outside import Json, as_json, read_rows

_FINAL = {
    "approval.rejected",
    "approval.expired",
    "approval.edited",
    "approval.withdrawn",
    "approval.stale",
    "execution.ended",
}
_MOVES = {"approval.approved", "approval.rejected", "execution.claimed", "execution.ended"}
# How the trail shows that a row came into its state.
_LAST_WORD = {
    "executed": "execution.ended",
    "failed": "execution.ended",
    "rejected": "approval.rejected",
    "expired": "approval.expired",
    "superseded": "approval.edited",
    "cancelled": "approval.withdrawn",
    "stale": "approval.stale",
}


def check_invariants(database_url: str, payments: Sequence[Json]) -> None:
    """Fail with the number of the invariant that does not hold.

    `payments` is the provider's book as `GET /sandbox/payments` shows it.
    """
    approvals = read_rows(database_url, "SELECT * FROM approvals")
    attempts = read_rows(database_url, "SELECT * FROM attempts")
    trail = read_rows(database_url, "SELECT * FROM audit ORDER BY chain, seq")
    captured = read_rows(database_url, "SELECT order_id, captured_minor FROM ledger_payments")
    ours = [entry for entry in payments if entry["key"].startswith("rd-")]
    _one_effect_each(ours, approvals, attempts)
    _stored_is_executed(ours, approvals)
    _never_more_than_captured(
        payments, approvals, {row["order_id"]: row["captured_minor"] for row in captured}
    )
    _trail_is_whole(trail)
    by_approval: dict[str, list[Json]] = {}
    for row in trail:
        by_approval.setdefault(row["approval_id"], []).append(row)
    for approval in approvals:
        _trail_tells_the_status(approval, by_approval[approval["id"]])
    claims = Counter(row["approval_id"] for row in trail if row["type"] == "execution.claimed")
    assert claims == Counter(row["approval_id"] for row in attempts), "I11: attempts"


def _one_effect_each(ours: list[Json], approvals: list[Json], attempts: list[Json]) -> None:
    keys = Counter(entry["key"] for entry in ours)
    assert [key for key, times in keys.items() if times > 1] == [], "I1"
    executed = {a["idempotency_key"] for a in approvals if a["status"] == "executed"}
    open_still = {
        a["idempotency_key"] for a in approvals if a["status"] in {"executing", "unknown"}
    }
    assert executed <= keys.keys() <= executed | open_still, "I1: the book and the rows differ"
    assert keys.keys() <= {row["key"] for row in attempts}, "I13"


def _stored_is_executed(ours: list[Json], approvals: list[Json]) -> None:
    rows = {row["idempotency_key"]: row for row in approvals}
    for entry in ours:
        payload = as_json(rows[entry["key"]]["payload"])
        amount = {name: entry["amount"][name] for name in ("minor", "currency")}
        assert (payload["order_id"], payload["amount"]) == (entry["order_id"], amount), "I3"
    for row in approvals:
        bound = {
            "tool": row["tool"],
            "payload": as_json(row["payload"]),
            "approval_id": row["id"],
            "policy_version": row["policy_version"],
        }
        canonical = json.dumps(bound, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        bytes_bound = b"supportdesk/approval/v1\n" + canonical.encode()
        assert hashlib.sha256(bytes_bound).hexdigest() == row["payload_hash"], "I3: hash"


def _never_more_than_captured(
    payments: Sequence[Json], approvals: list[Json], captured: dict[str, int]
) -> None:
    spent: Counter[str] = Counter()
    for entry in payments:
        if entry["status"] != "failed":
            spent[entry["order_id"]] += entry["amount"]["minor"]
    booked = {entry["key"] for entry in payments}
    for row in approvals:
        reserved = row["status"] in {"executing", "unknown"}
        if reserved and row["idempotency_key"] not in booked:
            spent[row["order_id"]] += row["amount_minor"]
    assert {order: sum_ for order, sum_ in spent.items() if sum_ > captured[order]} == {}, "I6"


def _trail_is_whole(trail: list[Json]) -> None:
    for chain, rows in groupby(trail, key=lambda row: row["chain"]):
        previous = "0" * 64
        for seq, row in enumerate(rows, 1):
            linked = f"supportdesk/audit/v1\n{previous}\n{row['body']}".encode()
            previous = hashlib.sha256(linked).hexdigest()
            assert (row["seq"], row["hash"]) == (seq, previous), f"I11: {chain} {seq}"


def _trail_tells_the_status(approval: Json, events: list[Json]) -> None:
    types = [row["type"] for row in sorted(events, key=lambda row: (row["at"], row["seq"]))]
    expected = _LAST_WORD.get(approval["status"])
    if expected is None:
        assert _FINAL.isdisjoint(types), f"I11: {approval['id']} {types}"
        return
    assert types.count(expected) == 1, f"I11: {approval['id']} {types}"
    after = types[types.index(expected) + 1 :]
    assert _MOVES.isdisjoint(after), f"I4: {approval['id']} {types}"
    if approval["status"] == "executed" and not approval["automatic"]:
        assert types.count("approval.approved") == 1, f"I2, I5: {approval['id']} {types}"
