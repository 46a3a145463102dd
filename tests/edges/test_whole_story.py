"""The story as users and other programs have it: a real process, HTTP, Slack's stand-in, files."""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import pytest

from tests.support.outside import Json, as_json, database, eventually, parts_of, shown_text
from tests.support.process import Chat, DeskProcess, running_desk
from tests.support.shared_data import full_export

REVIEW = "needs a quick review by our team"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def desk(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeskProcess]:
    """Run one desk for all stories; afterwards its trail is whole and it ends in good order."""
    with (
        database(request.param, request) as url,
        running_desk(tmp_path_factory.mktemp("desk"), url) as desk,
    ):
        yield desk
        assert desk.agent("audit", "verify").startswith("ok: ")
        desk.stop()


class Parked(NamedTuple):
    """A refund that waits: the customer's chat, the approval, its card."""

    chat: Chat
    approval: Json
    card: Json


def park(desk: DeskProcess, amount: str, order: str, customer: str) -> Parked:
    chat = desk.opens_chat(customer)
    approval = chat.parks(f"please refund ${amount} on {order}")
    return Parked(chat, approval, desk.card(approval["id"]))


def paid(desk: DeskProcess, approval: Json) -> list[int]:
    """Return the amounts that the provider's book holds for an approval's key."""
    key = f"rd-{approval['id'].removeprefix('apr_')}"
    return [one["amount"]["minor"] for one in desk.payments() if one["key"] == key]


def signed(desk: DeskProcess, card: Json, name: str, vote: Json) -> bool:
    """Tell whether a card names a person and the second in which they decided."""
    users = {element["user_id"] for element in parts_of(card["blocks"], "user")}
    times = {element["timestamp"] for element in parts_of(card["blocks"], "date")}
    at = int(datetime.fromisoformat(vote["at"]).timestamp())
    return desk.person(name)["slack_user_id"] in users and at in times


def refusals(desk: DeskProcess, approval: Json) -> list[Json]:
    """Return what the trail says of words on an approval that did not count."""
    rows = desk.rows(
        "SELECT body FROM audit WHERE approval_id = :id AND type = 'decision.refused' ORDER BY seq",
        id=approval["id"],
    )
    return [as_json(row["body"]) for row in rows]


def test_a_small_refund_is_paid_at_once(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_clara")
    assert "refunded 5.00 USD on ORD-1002" in chat.says("refund $5 on ORD-1002")
    (entry,) = desk.payments("ORD-1002")
    assert (entry["amount"]["minor"], entry["status"]) == (500, "succeeded")
    assert [chip["status"] for chip in chat.chips()] == ["done"]


def test_a_large_refund_waits_and_its_card_shows_all_that_is_hashed(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_clara")
    approval = chat.parks("The chair ORD-1001 arrived broken, I want my money back")
    assert approval["payload"] == {
        "order_id": "ORD-1001",
        "customer_id": "cus_clara",
        "amount": {"minor": 16000, "currency": "USD"},
    }
    assert [chip["status"] for chip in chat.chips()] == ["pending"]
    card = desk.card(approval["id"])
    assert hash_on_card(card) == hash_of(approval) == approval["payload_hash"]
    assert f"sha256 `{approval['payload_hash'][:16]}`" in shown_text(card)
    assert approval["risk"]["reasons"][0]["text"] in shown_text(card)
    assert paid(desk, approval) == []


def hash_of(approval: Json) -> str:
    """Return the hash of what the API shows, computed as the README says."""
    return bound_hash(
        {
            "tool": approval["tool"],
            "payload": approval["payload"],
            "approval_id": approval["id"],
            "policy_version": approval["policy_version"],
        }
    )


def hash_on_card(card: Json) -> str:
    """Return the hash of what the card shows: one field a line, each value as JSON."""
    (block,) = parts_of(card["blocks"], "rich_text_preformatted")
    bound: Json = {"payload": {}}
    for row in block["elements"][0]["text"].splitlines():
        path, shown = row.split(maxsplit=1)
        own = path in {"tool", "approval_id", "policy_version"}
        *parents, name = path.split(".")
        place = bound if own else bound["payload"]
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = json.loads(shown)
    return bound_hash(bound)


def bound_hash(bound: Json) -> str:
    canonical = json.dumps(bound, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"supportdesk/approval/v1\n" + canonical.encode()).hexdigest()


def test_one_click_pays_once_and_card_and_chat_say_so(desk: DeskProcess) -> None:
    chat, approval, card = park(desk, "61.00", "ORD-1005", "cus_david")
    assert desk.clicks("ana", card, "approval_approve")["status"] == 200
    done = desk.becomes(approval["id"], "executed")
    assert paid(desk, approval) == [6100]
    (vote,) = done["decisions"]
    assert (vote["actor"], vote["verdict"], vote["channel"]) == ("Ana Ribeiro", "approve", "slack")
    shown = desk.card(approval["id"], "Approved and paid")
    assert shown["ts"] == card["ts"]
    assert signed(desk, shown, "ana", vote)
    assert parts_of(shown["blocks"], "button") == []
    assert "61.00 USD has been refunded on ORD-1005" in chat.reads("61.00 USD has been refunded")
    assert [chip["status"] for chip in chat.chips()] == ["pending", "approved", "done"]


def test_the_second_approval_is_told_who_was_first(desk: DeskProcess) -> None:
    _, approval, _ = park(desk, "62.00", "ORD-1005", "cus_david")
    first = desk.decides("approve", approval, desk.staff("ana"))
    assert first.status_code == 200, first.text
    (vote,) = first.json()["decisions"]
    late = desk.decides("approve", approval, desk.staff("ben"))
    assert (late.status_code, late.json()["code"]) == (409, "already_decided")
    decided = {name: vote[name] for name in ("actor", "verdict", "channel", "at")}
    assert late.json()["decided"] == decided
    assert decided["actor"] == "Ana Ribeiro"
    desk.becomes(approval["id"], "executed")
    assert paid(desk, approval) == [6200]
    assert late.headers["content-type"] == "application/problem+json"


def test_a_guests_click_does_not_count_and_is_in_the_trail(desk: DeskProcess) -> None:
    _, approval, card = park(desk, "63.00", "ORD-1005", "cus_david")
    assert desk.clicks("gus", card, "approval_approve")["status"] == 200
    desk.whispers("gus", "Guests")
    (refused,) = refusals(desk, approval)
    assert refused["data"]["code"] == "not_allowed"
    assert refused["data"]["identity"].endswith(desk.person("gus")["slack_user_id"])
    assert desk.approval(approval["id"])["status"] == "pending"
    assert paid(desk, approval) == []


def test_nobody_approves_their_own_request(desk: DeskProcess) -> None:
    _, approval, card = park(desk, "129.00", "ORD-1008", "cus_ben")
    answer = desk.decides("approve", approval, desk.staff("ben"))
    assert (answer.status_code, answer.json()["code"]) == (403, "self_approval")
    desk.clicks("ben", card, "approval_approve")
    desk.whispers("ben", "your own request")
    assert [one["data"]["code"] for one in refusals(desk, approval)] == ["self_approval"] * 2
    assert desk.approval(approval["id"])["status"] == "pending"
    assert paid(desk, approval) == []


def test_a_hash_that_was_not_shown_approves_nothing(desk: DeskProcess) -> None:
    _, approval, _ = park(desk, "64.00", "ORD-1005", "cus_david")
    forged = "0" * 64
    answer = desk.decides("approve", approval, desk.staff("ana"), payload_hash=forged)
    assert (answer.status_code, answer.json()["code"]) == (409, "payload_changed")
    (refused,) = refusals(desk, approval)
    assert refused["data"]["shown_hash"] == forged
    assert desk.approval(approval["id"])["status"] == "pending"
    assert paid(desk, approval) == []


def test_who_may_not_decide_may_not_read_either(desk: DeskProcess) -> None:
    _, approval, _ = park(desk, "60.00", "ORD-1001", "cus_clara")
    path = f"/approvals/{approval['id']}"
    for answer in (desk.get(path), desk.decides("approve", approval, None)):
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    sam = desk.staff("sam")
    for answer in (desk.get(path, sam), desk.decides("approve", approval, sam)):
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert [one["data"]["code"] for one in refusals(desk, approval)] == ["not_allowed"]
    assert paid(desk, approval) == []


def test_a_rejected_customer_reads_why_and_is_offered_a_person(desk: DeskProcess) -> None:
    chat, approval, _ = park(desk, "65.00", "ORD-1004", "cus_priya")
    answer = desk.decides(
        "reject",
        approval,
        desk.staff("ana"),
        category="not_eligible",
        reason="The return window has passed.",
        note="Third try this month, watch this account.",
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "rejected")
    said = chat.reads("declined")
    assert "The return window has passed." in said
    assert "person" in said
    assert chat.chips()[-1]["status"] == "declined"
    assert "watch this account" not in json.dumps(chat.events())
    assert "watch this account" not in shown_text(desk.card(approval["id"], "Rejected"))
    assert paid(desk, approval) == []


def test_an_edit_through_the_api_pays_the_new_amount(desk: DeskProcess) -> None:
    chat, approval, card = park(desk, "88.00", "ORD-1006", "cus_priya")
    answer = desk.decides(
        "edit",
        approval,
        desk.staff("ana"),
        edits={"amount": {"minor": 4400, "currency": "USD", "display": "44.00 USD"}},
        reason="Only the small pan was dented.",
    )
    assert answer.status_code == 200, answer.text
    new = answer.json()
    assert new["id"] != approval["id"]
    assert new["supersedes"] == approval["id"]
    assert new["payload_hash"] == hash_of(new) != approval["payload_hash"]
    old = desk.approval(approval["id"])
    assert (old["status"], old["superseded_by"]) == ("superseded", new["id"])
    desk.becomes(new["id"], "executed")
    assert (paid(desk, approval), paid(desk, new)) == ([], [4400])
    desk.card(new["id"], "Approved and paid")
    replaced = desk.card(approval["id"], "Replaced by an edit")
    assert (replaced["ts"], parts_of(replaced["blocks"], "button")) == (card["ts"], [])
    chat.reads("44.00 USD")
    late = desk.decides("approve", approval, desk.staff("mia"))
    assert (late.status_code, late.json()["code"]) == (409, "superseded")
    assert late.json()["superseded_by"] == new["id"]


def test_an_edit_in_slack_pays_the_new_amount(desk: DeskProcess) -> None:
    chat, approval, card = park(desk, "79.00", "ORD-1018", "cus_david")
    desk.clicks("ana", card, "approval_edit")
    assert desk.form("ana")["callback_id"] == "edit_form"
    refused = desk.submits("ana", {"amount": "500.00", "reason": "Too much."})
    assert refused["response_action"] == "errors"
    desk.submits("ana", {"amount": "39.50", "reason": "Half was agreed."})
    (new,) = [a for a in executed(desk) if a["supersedes"] == approval["id"]]
    assert (paid(desk, approval), paid(desk, new)) == ([], [3950])
    chat.reads("39.50 USD")


def executed(desk: DeskProcess) -> list[Json]:
    """Wait until nothing is under way any more, and return what was executed."""

    def under_way() -> bool:
        statuses = ("approved", "executing")
        found = [desk.get("/approvals", desk.staff("ana"), status=one) for one in statuses]
        return any(answer.json()["items"] for answer in found)

    eventually(lambda: not under_way(), "end of all refunds")
    found = desk.get("/approvals", desk.staff("ana"), status="executed", limit=100)
    return list(found.json()["items"])


def test_a_rejection_in_slack_tells_the_customer_why(desk: DeskProcess) -> None:
    chat, approval, card = park(desk, "58.00", "ORD-1017", "cus_sofia")
    desk.clicks("ben", card, "approval_reject")
    form = {
        "category": "needs_information",
        "reason": "Please send us a photo of the lamp first.",
        "note": "The photo of last time was a stock picture.",
    }
    desk.submits("ben", form)
    assert desk.becomes(approval["id"], "rejected")["decisions"][0]["channel"] == "slack"
    assert "a photo of the lamp" in chat.reads("declined")
    assert "stock picture" not in json.dumps(chat.events())
    assert "More information is needed" in shown_text(desk.card(approval["id"], "Rejected"))
    assert paid(desk, approval) == []


def test_an_imported_order_can_be_talked_about(desk: DeskProcess) -> None:
    first = desk.agent("shop", "import", str(full_export())).split()
    assert first[:8] == ["added", "1000", "unchanged", "0", "updated", "0", "bad", "rows"]
    again = desk.agent("shop", "import", str(full_export())).split()
    assert again[:4] == ["added", "0", "unchanged", "1000"]
    (owner,) = desk.get("/sandbox/shop/customers", q="james.li4495@example.com").json()
    chat = desk.opens_chat(owner["id"])
    approval = chat.parks("I want to return the office chair from #W2611340")
    assert approval["payload"]["amount"] == {"minor": 48881, "currency": "USD"}
    desk.clicks("ana", desk.card(approval["id"]), "approval_approve")
    desk.becomes(approval["id"], "executed")
    assert paid(desk, approval) == [48881]
    assert "488.81 USD" in chat.reads("488.81 USD has been refunded")
