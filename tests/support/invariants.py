"""What holds after whatever happened (design.md §20), read from the database and from the book.

Everything is computed anew from the rows: nothing here calls the code that wrote them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from tests.support.outside import Json, as_json, read_rows

# Every way a status may go (design.md §4), written down here a second time on purpose.
_PATHS = {
    None: {"pending", "approved"},
    "pending": {"pending", "approved", "rejected", "superseded", "expired", "cancelled"},
    "approved": {"executing", "stale", "cancelled"},
    "executing": {"executed", "failed", "unknown", "approved"},
    "unknown": {"executed", "failed", "executing"},
    "executed": {"failed"},
}
# A fact that tells of a row which stays as it is.
_STAYS = {"approval.asked_again"}


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
    votes = read_rows(database_url, "SELECT * FROM decisions")
    for approval in approvals:
        _people_decided(approval, [v for v in votes if v["approval_id"] == approval["id"]])
    claims = Counter(row["approval_id"] for row in trail if row["type"] == "execution.claimed")
    assert claims == Counter(row["approval_id"] for row in attempts), "I11: attempts"


def _one_effect_each(ours: list[Json], approvals: list[Json], attempts: list[Json]) -> None:
    keys = Counter(entry["key"] for entry in ours)
    assert [key for key, times in keys.items() if times > 1] == [], "I1"
    money = [a for a in approvals if a["amount_minor"] is not None]
    # What a person settled rests on what they have seen, not on this book.
    settled = {a["idempotency_key"] for a in money if "settled_by" in (a["result"] or "")}
    executed = {a["idempotency_key"] for a in money if a["status"] == "executed"} - settled
    open_still = {a["idempotency_key"] for a in money if a["status"] in {"executing", "unknown"}}
    failed = {entry["key"] for entry in ours if entry["status"] == "failed"}
    known = executed | open_still | settled | failed
    assert executed <= keys.keys() <= known, "I1: the book and the rows differ"
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
        reserved = row["status"] in {"executing", "unknown"} and row["amount_minor"] is not None
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
    """Walk the facts of one row: each step is one of the table, the last is what the row says."""
    status: str | None = None
    for row in sorted(events, key=lambda row: row["seq"]):
        if row["chain"] != approval["run_id"]:
            continue
        told = as_json(row["body"])["data"].get("status")
        if told is None:
            continue
        if row["type"] in _STAYS:
            assert told == status, f"I4: {approval['id']} {row['type']}"
            continue
        assert told in _PATHS.get(status, set()), f"I4: {approval['id']} {status} -> {told}"
        status = told
    assert status == approval["status"], f"I12: {approval['id']}: the trail says {status}"


def _people_decided(approval: Json, votes: list[Json]) -> None:
    """Check that what ran had been decided by the right people, in time, about this very hash."""
    yes = [vote for vote in votes if vote["verdict"] == "approve"]
    for vote in votes:
        assert approval["payload_hash"].startswith(vote["shown_hash"]), f"I3: {vote['id']}"
        assert vote["at"] < approval["expires_at"], f"I10: {vote['id']} came too late"
    if approval["status"] == "rejected":
        assert [v["verdict"] for v in votes].count("reject") == 1, f"I5: {approval['id']}"
    if approval["automatic"] or approval["decided_at"] is None:
        return
    if approval["status"] in {"approved", "executing", "executed", "failed", "unknown", "stale"}:
        people = {vote["actor_id"] for vote in yes}
        glass = any(vote["break_glass"] for vote in yes)
        roles = {role for vote in yes for role in json.loads(vote["roles"])}
        enough = len(people) >= approval["approvals_needed"] and approval["tier_role"] in roles
        assert enough or glass, f"I2: {approval['id']}"
        if approval["customer_id"] == "cus_ben":
            # The one customer who is of the desk as well.
            assert not any(vote["actor_name"] == "Ben" for vote in yes), f"I14: {approval['id']}"
        edited = set(json.loads(approval["edited_by"]))
        for vote in yes:
            # Who edited has no vote but the submit itself.
            own = vote["actor_id"] in edited
            assert not own or vote["at"] == approval["created_at"], f"I14: {vote['id']} by editor"
        raised = set(json.loads(approval["raised_by"]))
        assert people.isdisjoint(raised), f"I14: {approval['id']} by who raised it"
