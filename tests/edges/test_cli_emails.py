"""E-mails and fraud flags on the terminal: shown as they are, and what people may change."""

from pathlib import Path

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.ids import ApprovalId
from agent.domain.roles import Role
from storage import mail_sink
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal, value

CLARA = "clara.nguyen@example.com"
BODY = "Dear Clara,\n\nwe are sorry about the chair.\nThe team"
WHY = ("--reason", "a kinder tone")


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    told = tell_story(store, clock, ids)
    told.model.otherwise = "I see."
    told.hire("ana", Role.REFUND_APPROVER)
    told.hire("mia", Role.REFUND_MANAGER)
    return told


@pytest.fixture
def ana(story: Story) -> Terminal:
    return Terminal(story, "ana")


@pytest.fixture
def email(story: Story) -> Approval:
    call = story.email_call(
        "call_1", subject="Your chair", body=BODY, cc=["boss@example.com"], order_id="ORD-1001"
    )
    story.proposes(story.opens_chat("cus_clara"), call)
    return story.only(Status.PENDING)


def values(terminal: Terminal, approval_id: str, name: str) -> list[str]:
    """Return every line of a name in what `show` prints."""
    lines = terminal.run("pending", "show", approval_id).stdout.splitlines()
    return [line.removeprefix(name).strip() for line in lines if line.startswith(f"{name} ")]


def sent(story: Story) -> list[str]:
    with story.desk.store.transaction(write=False) as tx:
        return [mail.raw for mail in mail_sink.book(tx)]


def test_an_email_is_shown_as_its_readers_would_see_it(ana: Terminal, email: Approval) -> None:
    shown = ana.run("pending", "show", email.id)
    assert value(shown, "To") == CLARA
    assert value(shown, "Cc") == "boss@example.com"
    assert value(shown, "Bcc") == "nobody"
    assert value(shown, "Subject") == "Your chair"
    lines = [line.partition("Body")[2].strip() for line in shown.stdout.splitlines()]
    assert [line for line in lines if line] == [line for line in BODY.split("\n") if line]
    assert value(shown, "level") == "medium"
    assert value(shown, "triggers").startswith("the mail server delivers it")
    assert value(shown, "payload.subject") == '"Your chair"'


def test_an_email_is_edited_and_the_difference_is_shown(
    story: Story, ana: Terminal, email: Approval, tmp_path: Path
) -> None:
    file = tmp_path / "body.txt"
    file.write_bytes(b"Dear Clara,\r\n\r\nwe are very sorry about the chair.\r\nThe team")
    done = ana.run(
        *("pending", "edit", email.id, "--subject", "Your broken chair", "--cc", ""),
        *("--body-file", str(file), *WHY),
    )
    (new,) = story.all(Status.EXECUTED)
    assert f"edit: {new.id} replaces {email.id}; changed Cc, the subject, the text" in done.stdout
    assert values(ana, new.id, "changed subject") == ['"Your chair" -> "Your broken chair"']
    assert values(ana, new.id, "changed cc") == ['["boss@example.com"] -> []']
    assert values(ana, new.id, "changed body") == [
        "-we are sorry about the chair.",
        "+we are very sorry about the chair.",
    ]
    (raw,) = sent(story)
    assert "Your broken chair" in raw


def test_an_edit_to_somebody_else_waits_for_somebody_else(
    story: Story, ana: Terminal, email: Approval
) -> None:
    words = ("--to", "a@example.com", "--to", "b@example.com", "--bcc", "c@example.com")
    ana.run("pending", "edit", email.id, *words, *WHY)
    new = story.only(Status.PENDING)
    assert new.payload["to"] == ["a@example.com", "b@example.com"]
    assert new.payload["bcc"] == ["c@example.com"]
    assert sent(story) == []
    own = ana.run("pending", "approve", new.id, typed="y\n", code=1)
    assert "self_approval: " in own.stderr


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        ((), "Say what to change", 2),
        (("--body", "x", "--body-file", "-"), "give one", 2),
        (("--body-file", "/nowhere"), "No such file", 2),
        (("--subject", "a\nb"), "holds characters that are no text", 2),
        (("--to", ""), "invalid: to: ", 1),
        (("--to", "not an address"), "invalid: to: ", 1),
        (("--cc", CLARA), "invalid: to: an address appears twice", 1),
        (("--amount", "5.00"), "invalid: amount: this request has none", 1),
        (("--order", "ORD-1005"), "invalid: edits: ", 1),
        (("--subject", "Your chair"), "invalid: body: nothing is changed", 1),
    ],
)
def test_an_edit_that_cannot_be_is_refused(
    story: Story, ana: Terminal, email: Approval, words: tuple[str, ...], said: str, code: int
) -> None:
    refused = ana.run("pending", "edit", email.id, *words, *WHY, code=code)
    assert said in refused.stderr
    assert story.all(Status.PENDING) == (email,)


def test_a_body_comes_from_the_pipe(story: Story, ana: Terminal, email: Approval) -> None:
    words = ("pending", "edit", email.id, "--body-file", "-", *WHY)
    for typed, said in ((b"\xff\xfe", "not text in UTF-8"), (b"a\x00b", "invalid: body: ")):
        assert said in ana.run(*words, typed=typed, code=1).stderr
    ana.run(*words, typed="Sorry!\n")
    (new,) = story.all(Status.EXECUTED)
    assert new.payload["body"] == "Sorry!\n"


def test_the_order_of_a_refund_is_edited(story: Story, ana: Terminal) -> None:
    story.asks_refund(story.opens_chat("cus_clara"), "60.00")
    parked = story.only(Status.PENDING)
    orders = story.desk.shop.orders_of(parked.customer_id)
    other = next(o.id for o in orders if o.id != "ORD-1001" and o.paid and o.total.minor > 6000)
    ana.run("pending", "edit", parked.id, "--order", other, *WHY)
    new = story.only(Status.PENDING)
    assert new.order_id == other
    assert values(ana, new.id, "changed order_id") == [f'"ORD-1001" -> "{other}"']
    nowhere = ana.run("pending", "edit", new.id, "--order", "ORD-0", *WHY, code=1)
    assert "order_id: there is no such order" in nowhere.stderr


def test_a_flag_is_shown_with_score_signals_and_what_it_triggers(
    story: Story, ana: Terminal
) -> None:
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.flag_call("0.81", signals=["three claims", "a new card"]))
    flag = story.only(Status.PENDING)
    shown = ana.run("pending", "show", flag.id)
    assert value(shown, "score") == "0.81"
    assert value(shown, "action") == "hold"
    assert values(ana, flag.id, "signal") == ["three claims", "a new card"]
    assert value(shown, "triggers").startswith("nothing runs for this customer without a person")
    assert value(shown, "level") == "high"
    mia = Terminal(story, "mia")
    refused = mia.run("pending", "edit", flag.id, "--body", "x", *WHY, code=1)
    assert "a fraud flag is not edited" in refused.stderr
    mia.run("pending", "approve", flag.id, typed="y\n")
    assert story.approval(ApprovalId(flag.id)).status is Status.EXECUTED
    assert story.chips(chat) == []
