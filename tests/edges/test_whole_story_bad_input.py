"""Whatever is sent in: a clear answer, nothing paid, nothing lost, and the trail has it."""

import html
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
import pytest

from bot.sandbox.slack_delivery import sign
from tests.support.openai_standin import KEY, MODEL, Reply, Standin, calls, running_standin, says
from tests.support.order_export import export, line
from tests.support.outside import (
    Json,
    as_json,
    button_value,
    eventually,
    parts_of,
    shown_text,
    unix_now,
)
from tests.support.postgres import fresh_database
from tests.support.process import APPROVALS, ONCALL, Chat, DeskProcess, made_desk, running_desk
from tests.support.slack_sandbox import (
    BOT_TOKEN,
    SIGNING_SECRET,
    real_clock,
    running_slack,
    running_stage,
)

MARKUP = (
    "<!channel> *bold* `code` <@U07ANARIBEI> &amp; <b>x</b> <https://evil.example|here> \u202eoof"
)
# Said by a customer of another name: of their own name a card shows the initials alone.
SPOKEN = "<!here> _slanted_ `tick` <@U07BENORTIZZ> &lt; <i>y</i> <http://a.example|there> \u202eton"
# What Slack would make something of, and what the eye would not see.
LIVE = (
    *("<!channel", "*bold*", "`code`", "<@U07ANARIBEI>", "<b>", "<https:", "\u202e"),
    *("<!here", "_slanted_", "`tick`", "<@U07BENORTIZZ>", "<i>", "<http:"),
)


class Scripted(NamedTuple):
    """A desk whose model says what a test tells it to."""

    desk: DeskProcess
    model: Standin

    def will_say(self, *replies: Reply) -> None:
        """Replace what the model says next; a test that failed may have left something."""
        self.model.script.clear()
        self.model.script.extend(replies)

    def proposes(self, chat: Chat, raw: str, tool: str = "issue_refund") -> Json:
        """Let the model call a tool with raw arguments; return the result it was given."""
        self.will_say(calls(("call_1", tool, raw)), says("That did not work."))
        assert chat.says("please do it") == "That did not work."
        results = [m for m in self.model.bodies[-1]["messages"] if m["role"] == "tool"]
        return as_json(results[-1]["content"])


@pytest.fixture(scope="module")
def scripted(postgres_admin: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripted]:
    """Run a desk whose model is a stand-in, on the database that is stricter about text."""
    with ExitStack() as held:
        model = held.enter_context(running_standin())
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.url, "OPENAI_MODEL": MODEL}
        url = held.enter_context(fresh_database(postgres_admin))
        folder = tmp_path_factory.mktemp("desk")
        desk = held.enter_context(running_desk(folder, url, **env))
        yield Scripted(desk, model)
        assert model.refused == []
        assert [one["order_id"] for one in desk.payments()] == ["ORD-1006"]
        assert desk.agent("audit", "verify").startswith("ok: ")
        assert "Traceback" not in desk.log
        desk.stop()


@pytest.fixture
def desk(scripted: Scripted) -> DeskProcess:
    return scripted.desk


def refund(**changes: object) -> str:
    """Return good arguments of `issue_refund` with some replaced; None leaves one out."""
    good = {
        "order_id": "ORD-1013",
        "amount": "5.00",
        "currency": "USD",
        "scope": "partial",
        "reason": "The teapot is chipped.",
        "confidence": "0.97",
    }
    return json.dumps({k: v for k, v in {**good, **changes}.items() if v is not None})


BAD = {
    "unknown order": (refund(order_id="ORD-9999"), "not_found"),
    "order of somebody else": (refund(order_id="ORD-1005"), "not_found"),
    "order that is markup": (refund(order_id=MARKUP), "invalid_arguments"),
    "zero": (refund(amount="0.00"), "invalid_amount"),
    "negative": (refund(amount="-5.00"), "invalid_amount"),
    "too many decimals": (refund(amount="5.001"), "invalid_arguments"),
    "more than remaining": (refund(amount="62.01"), "over_remaining"),
    "10^12": (refund(amount="1000000000000"), "invalid_arguments"),
    "most there is": (refund(amount="9999999999.99"), "over_remaining"),
    "NaN": (refund(amount="NaN"), "invalid_arguments"),
    "Infinity": (refund(amount="Infinity"), "invalid_arguments"),
    "bare NaN": (refund(amount=float("nan")), "invalid_arguments"),
    "bare Infinity": (refund(amount=float("inf")), "invalid_arguments"),
    "exponent": (refund(amount="1e1"), "invalid_arguments"),
    "comma": (refund(amount="5,00"), "invalid_arguments"),
    "true": (refund(amount=True), "invalid_arguments"),
    "amount that is an object": (refund(amount={"minor": 500}), "invalid_arguments"),
    "no amount": (refund(amount=None), "invalid_arguments"),
    "other currency": (refund(currency="EUR"), "wrong_currency"),
    "no currency of this world": (refund(currency="XXQ"), "invalid_arguments"),
    "currency in words": (refund(currency="dollars"), "invalid_arguments"),
    "unknown scope": (refund(scope="all of it"), "invalid_arguments"),
    "confidence NaN": (refund(confidence="NaN"), "invalid_arguments"),
    "confidence over one": (refund(confidence="1.01"), "invalid_arguments"),
    "no reason": (refund(reason=""), "invalid_arguments"),
    "endless reason": (refund(reason="x" * 40_000), "invalid_arguments"),
    "customer of its own": (refund(customer_id="cus_david"), "invalid_arguments"),
    "approval of its own": (refund(approved_by="ana"), "invalid_arguments"),
    "key twice": ('{"amount": "5.00", "amount": "500.00"}', "invalid_arguments"),
    "prose": ("issue the refund, please", "invalid_arguments"),
    "very deep": ("[" * 20_000, "invalid_arguments"),
    "null": ("null", "invalid_arguments"),
    "text": ('"refund"', "invalid_arguments"),
    "half a character": (refund(reason="half \ud800"), "invalid_arguments"),
    "NUL": (refund(reason="a NUL \0"), "invalid_arguments"),
}


def trail(desk: DeskProcess, kind: str, conversation_id: str) -> list[Json]:
    """Return the data of a conversation's events of a kind."""
    rows = desk.rows(
        "SELECT body FROM audit WHERE type = :kind AND chain IN"
        " (SELECT id FROM runs WHERE conversation_id = :id) ORDER BY chain, seq",
        kind=kind,
        id=conversation_id,
    )
    return [as_json(row["body"])["data"] for row in rows]


def clicks_in_trail(desk: DeskProcess, code: str) -> list[Json]:
    rows = desk.rows("SELECT body FROM audit WHERE type = 'decision.refused' ORDER BY at, seq")
    found = [as_json(row["body"])["data"] for row in rows]
    return [data for data in found if data["code"] == code]


@pytest.mark.parametrize(("raw", "code"), BAD.values(), ids=BAD)
def test_a_proposal_that_cannot_be_is_refused(scripted: Scripted, raw: str, code: str) -> None:
    chat = scripted.desk.opens_chat("cus_clara")
    result = scripted.proposes(chat, raw)
    assert (result["ok"], result["error"]) == (False, code)
    (refused,) = trail(scripted.desk, "proposal.refused", chat.conversation_id)
    assert (refused["code"], refused["tool"]) == (code, "issue_refund")
    assert chat.chips() == []


@pytest.mark.parametrize(
    ("customer", "changes", "code"),
    [
        ("cus_priya", {"order_id": "ORD-1011"}, "final_sale"),
        ("cus_priya", {"order_id": "ORD-1010", "amount": "42.01"}, "final_sale"),
        ("cus_priya", {"order_id": "ORD-1006", "amount": "88.01"}, "over_remaining"),
        ("cus_jonas", {"order_id": "ORD-1014"}, "not_paid"),
        ("cus_jonas", {"order_id": "ORD-1009"}, "wrong_currency"),
        ("cus_yuki", {"order_id": "ORD-1007"}, "disputed"),
        (
            "cus_yuki",
            {"order_id": "ORD-1012", "currency": "JPY", "amount": "5.50"},
            "invalid_arguments",
        ),
    ],
    ids=str,
)
def test_an_order_that_gives_nothing_back_is_refused(
    scripted: Scripted, customer: str, changes: dict[str, object], code: str
) -> None:
    chat = scripted.desk.opens_chat(customer)
    result = scripted.proposes(chat, refund(**changes))
    assert (result["ok"], result["error"]) == (False, code)
    assert [d["code"] for d in trail(scripted.desk, "proposal.refused", chat.conversation_id)] == [
        code
    ]


def test_somebody_elses_order_looks_like_none_at_all(scripted: Scripted) -> None:
    chat = scripted.desk.opens_chat("cus_clara")
    foreign, unknown = (
        scripted.proposes(chat, refund(order_id=order)) for order in ("ORD-1005", "ORD-9999")
    )
    assert foreign == unknown


def test_a_tool_that_is_not_there_is_refused(scripted: Scripted) -> None:
    chat = scripted.desk.opens_chat("cus_ben")
    assert scripted.proposes(chat, "{}", tool="delete_order")["error"] == "unknown_tool"
    (refused,) = trail(scripted.desk, "proposal.refused", chat.conversation_id)
    assert (refused["code"], refused["tool"]) == ("unknown_tool", "delete_order")


def test_arguments_that_stay_unreadable_bring_a_person(scripted: Scripted) -> None:
    chat = scripted.desk.opens_chat("cus_ben")
    bad = [calls((f"call_{n}", "issue_refund", "{")) for n in range(2)]
    scripted.will_say(*bad, says("A colleague takes over."))
    chat.says("refund me")
    assert "hand_off" in [event["type"] for event in chat.events()]
    told = eventually(
        lambda: [m for m in scripted.desk.slack() if chat.conversation_id in shown_text(m)],
        "call for a person",
    )
    assert "needs a person" in told[0]["text"]


@pytest.mark.parametrize("words", ["a NUL \0 inside", "\0"])
def test_words_of_the_model_that_are_no_text_still_end_in_an_answer(
    scripted: Scripted, words: str
) -> None:
    chat = scripted.desk.opens_chat("cus_ben")
    scripted.will_say(says(words), says(words), says(words))
    assert chat.says("hello") not in {"", words}


@pytest.mark.parametrize(
    ("call_id", "tool"),
    [("call\0", "issue_refund"), ("", "issue_refund"), ("c", "a\0")],
)
def test_a_call_with_an_impossible_name_still_ends_in_an_answer(
    scripted: Scripted, call_id: str, tool: str
) -> None:
    chat = scripted.desk.opens_chat("cus_ben")
    scripted.will_say(calls((call_id, tool, "\0")), *[says("That did not work.")] * 3)
    assert chat.says("please do it") != ""
    assert chat.chips() == []


def test_a_visitor_who_is_not_signed_in_gets_no_money(scripted: Scripted) -> None:
    desk = scripted.desk
    opened = desk.post("/chat/conversations", {}).json()
    who = {"authorization": f"Bearer {opened['anonymous_token']}"}
    path = f"/chat/conversations/{opened['conversation_id']}"
    scripted.will_say(calls(("call_1", "issue_refund", refund())), says("Sign in."))
    sent = {"client_id": "6f0c3c86-6a2c-4c58-9a3e-8f6d4a1f3b11", "text": "refund $5 on ORD-1013"}
    assert desk.post(f"{path}/messages", sent, who).status_code == 202

    def answered() -> bool:
        events = desk.get(f"{path}/events", who).json()["events"]
        return any(event["data"].get("role") == "agent" for event in events)

    eventually(answered, "answer")
    (refused,) = trail(desk, "proposal.refused", opened["conversation_id"])
    assert refused["code"] == "not_verified"


def test_markup_is_shown_letter_by_letter_everywhere(scripted: Scripted) -> None:
    desk, owner = scripted.desk, marked_customer(scripted.desk)
    chat = desk.opens_chat(owner)
    raw = refund(order_id="#M1", amount="80.00", scope="full", reason=f"It says {SPOKEN}")
    scripted.will_say(calls(("call_1", "issue_refund", raw)), says(MARKUP))
    assert chat.says(f"I want it back {SPOKEN}") == MARKUP
    approval = desk.parked(chat.conversation_id)
    card = desk.card(approval["id"])
    shows_nothing_live(card)
    literal = SPOKEN.replace("\u202e", "\\u202e")
    shown = html.unescape(html.unescape(shown_text(card)))
    # The customer's words and the agent's.
    assert shown.count(html.unescape(literal)) >= 2
    scripted.will_say(says(MARKUP))
    answer = desk.decides(
        "reject", approval, desk.staff("ana"), category="other", reason=MARKUP, note=MARKUP
    )
    assert answer.status_code == 200, answer.text
    desk.card(approval["id"], "Rejected")
    eventually(lambda: len(chat.told()) == 2, "the outcome")
    for message in [*desk.slack(), *desk.slack(ONCALL)]:
        shows_nothing_live(message)
    assert MARKUP in chat.chips()[-1]["text"]


def marked_customer(desk: DeskProcess) -> str:
    """Import an order whose every word is markup, and return whose it is."""
    row = line(
        Name="#M1",
        Email="mark.up@example.com",
        Billing_Name=MARKUP,
        Lineitem_name=MARKUP,
        Lineitem_sku=MARKUP,
    )
    file = desk.folder / "markup.csv"
    file.write_bytes(b"".join(export(row)))
    desk.agent("shop", "import", str(file))
    (owner,) = desk.get("/sandbox/shop/customers", q="mark.up@example.com").json()
    return str(owner["id"])


def shows_nothing_live(message: Json) -> None:
    """Fail if Slack would read any of the customer's text as its own markup."""
    assert [piece for piece in LIVE if piece in message["text"] and piece[0] == "<"] == []
    for part in parts_of(message["blocks"], "mrkdwn"):
        assert [piece for piece in LIVE if piece in part["text"]] == []
    assert "\u202e" not in shown_text(message)


def test_a_very_long_message_is_refused_and_nothing_is_kept(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_clara")
    body = {"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a10", "text": "x" * 200_000}
    answer = desk.post(f"{chat.path}/messages", body, chat.who)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.headers["content-type"] == "application/problem+json"
    assert chat.events() == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'{"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a11"}',
        b'{"client_id": "no uuid", "text": "hello"}',
        b'{"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a11", "text": ""}',
        b'{"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a11", "text": "a\\u0000b"}',
        b'{"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a11", "text": "\\ud800"}',
        b'{"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a11", "text": 5}',
        b'{"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a11", "text": "hi", "role": "staff"}',
        b'{"client_id": "0b8f7a52-1d8e-4f0b-9f33-0d8b1c6d5a11", "text": "\xff"}',
    ],
)
def test_a_message_that_is_none_is_refused(desk: DeskProcess, raw: bytes) -> None:
    chat = desk.opens_chat("cus_clara")
    headers = {**chat.who, "content-type": "application/json"}
    answer = desk.client.post(f"{chat.path}/messages", content=raw, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert chat.events() == []


@pytest.fixture(scope="module")
def parked(scripted: Scripted) -> Json:
    """Return a request that waits for as long as the tests of this file last."""
    chat = scripted.desk.opens_chat("cus_david")
    result = scripted.proposes(chat, refund(order_id="ORD-1005", amount="300.00"))
    assert result["status"] == "pending_approval"
    return scripted.desk.parked(chat.conversation_id)


@pytest.mark.parametrize(
    ("verb", "body", "named"),
    [
        ("approve", {"payload_hash": None}, "payload_hash"),
        ("approve", {"amount": 1}, "amount"),
        ("approve", {"payload_hash": ["x"]}, "payload_hash"),
        ("reject", {"category": "other"}, "reason"),
        ("reject", {"reason": "It is not broken."}, "category"),
        ("reject", {"category": "because", "reason": "It is not broken."}, "category"),
        ("edit", {}, "edits"),
        ("edit", {"edits": {"amount": {"minor": 0, "currency": "USD"}}}, "amount"),
        ("edit", {"edits": {"amount": {"minor": -1, "currency": "USD"}}}, "amount"),
        ("edit", {"edits": {"amount": {"minor": 1.5, "currency": "USD"}}}, "minor"),
        ("edit", {"edits": {"amount": {"minor": 68901, "currency": "USD"}}}, "amount"),
        ("edit", {"edits": {"amount": {"minor": 10**12, "currency": "USD"}}}, "minor"),
        ("edit", {"edits": {"amount": {"minor": 100, "currency": "EUR"}}}, "amount"),
        ("edit", {"edits": {"order_id": "ORD-1004"}}, "order_id"),
    ],
)
def test_a_word_that_cannot_count_names_what_is_wrong(
    desk: DeskProcess, parked: Json, verb: str, body: Json, named: str
) -> None:
    answer = desk.decides(verb, parked, desk.staff("ana"), **body)
    assert answer.status_code == 422, answer.text
    assert named in answer.text
    assert desk.approval(parked["id"])["status"] == "pending"


def test_a_forged_click_is_refused_told_and_kept(desk: DeskProcess, parked: Json) -> None:
    card = desk.card(parked["id"])
    target = as_json(button_value(card, "approval_approve"))
    forged: list[tuple[str, Any, str]] = [
        ("approval_pay_twice", json.dumps(target), "unknown_action"),
        ("approval_approve", "yes", "unknown_action"),
        ("approval_approve", json.dumps({**target, "amount": 1}), "unknown_action"),
        ("approval_approve", json.dumps({**target, "id": f"apr_{'0' * 26}"}), "not_found"),
        ("approval_approve", json.dumps({**target, "h": "0" * 16}), "payload_changed"),
    ]
    for action_id, value, code in forged:
        before = len(clicks_in_trail(desk, code))
        assert desk.clicks("ana", card, action_id, value=value)["status"] == 200
        assert len(clicks_in_trail(desk, code)) == before + 1, (action_id, value)
    desk.whispers("ana", "not one the desk knows")
    desk.whispers("ana", "not what is stored")
    assert desk.approval(parked["id"])["status"] == "pending"


def test_a_broken_order_export_is_told_row_by_row(desk: DeskProcess) -> None:
    file = desk.folder / "broken.csv"
    good = line(Name="#G1", Email="good@example.com")
    bad = line(Name="#B1", Total="a lot")
    file.write_bytes(b"".join(export(bad, good)))
    said = desk.agent("shop", "import", str(file))
    assert "#B1" in said
    assert "Total" in said
    assert len(desk.get("/sandbox/shop/customers", q="good@example.com").json()) == 1
    file.write_bytes(b"\x00\xff no orders at all")
    assert "unreadable" in desk.agent("shop", "import", str(file), code=2)


def test_only_what_slack_has_signed_just_now_counts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("signed")
    with ExitStack() as held:
        stage = held.enter_context(running_stage())
        env = {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": f"{stage.url}/sandbox/slack/api/",
            "SLACK_APPROVALS_CHANNEL": APPROVALS,
            "SLACK_ONCALL_CHANNEL": ONCALL,
        }
        held.enter_context(running_slack(stage, folder, **real_clock()))
        desk = held.enter_context(made_desk(folder, **env))
        desk.start()
        assert desk.get("/sandbox/people").status_code == 404
        assert slack_answers(desk, None) == 401
        assert slack_answers(desk, 0, secret="another-secret") == 401
        assert slack_answers(desk, 6 * 60) == 401
        assert slack_answers(desk, -6 * 60) == 401
        assert clicks_in_trail(desk, "unknown_action") == []
        assert slack_answers(desk, 0) == 200
        assert len(clicks_in_trail(desk, "unknown_action")) == 1
        desk.stop()


def slack_answers(desk: DeskProcess, age_s: int | None, secret: str = SIGNING_SECRET) -> int:
    """Send a click that was signed so long ago, or not at all; return the status."""
    payload = {
        "type": "block_actions",
        "team": {"id": "T07SHOPSTRM"},
        "user": {"id": "U07ANARIBEI"},
        "actions": [{"action_id": "approval_pay_twice", "block_id": "b", "value": "{}"}],
    }
    body = urlencode({"payload": json.dumps(payload)}).encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    if age_s is not None:
        stamp = str(unix_now() - age_s)
        headers |= {
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": sign(secret, stamp, body),
        }
    answer: httpx.Response = desk.client.post("/slack/events", content=body, headers=headers)
    return answer.status_code
