"""`agent chat`: a customer's chat in which the person at the terminal decides."""

import pytest

from agent.domain.approvals import Status
from agent.domain.money import Money
from agent.domain.roles import Identity, Role
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.terminal import Terminal, value

CLARA = ("chat", "--customer", "cus_clara")


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    told = tell_story(store, clock, ids)
    told.hire("ana", Role.REFUND_APPROVER)
    return told


@pytest.fixture
def terminal(story: Story) -> Terminal:
    return Terminal(story)


def proposes(story: Story, amount: str = "160.00", **more: str) -> None:
    """Let the model propose a refund at the next line, and say that it waits."""
    story.model.calls(story.refund_call(amount, **more))
    story.model.says("It needs a quick review.")


def test_a_chat_without_requests(story: Story, terminal: Terminal) -> None:
    story.model.says("Hello!\nHow can I help?")
    story.model.says("You are welcome.")
    chat = terminal.run(*CLARA, typed="hi\n\nthanks\n")
    lines = chat.stdout.splitlines()
    assert lines[0].endswith(": you write as Clara Nguyen (cus_clara)")
    assert lines[1:] == [
        "you> hi",
        "agent> Hello!",
        "  How can I help?",
        "you> ",
        "you> thanks",
        "agent> You are welcome.",
        "you> ",
    ]
    assert chat.stderr == ""


def test_y_pays(story: Story, terminal: Terminal) -> None:
    proposes(story)
    story.model.says("It has been paid.")
    chat = terminal.run(*CLARA, typed="my chair wobbles\ny\n")
    (paid,) = story.all(Status.EXECUTED)
    tail = chat.stdout.split("Decide as cli:ana [y/n/e]: y\n")[1]
    assert tail.splitlines() == [
        f"approve stands for {paid.id}",
        "[approved] Refund of 160.00 USD on order ORD-1001: approved, the payment is on its way",
        "[done] Refund of 160.00 USD on order ORD-1001: done",
        "agent> It has been paid.",
        "you> ",
    ]
    assert f"hash                      {paid.payload_hash}" in chat.stdout
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]


def test_n_asks_for_category_and_reason(story: Story, terminal: Terminal) -> None:
    proposes(story)
    story.model.says("The team declined.")
    answers = "n\nbecause\nnot_eligible\nno\nn\nnot_eligible\noutside the window\n"
    chat = terminal.run(*CLARA, typed=f"my chair wobbles\n{answers}")
    assert "Error: 'because' is not one of 'not_eligible'" in chat.stdout
    assert chat.stderr.startswith("reason_required: ")
    (rejected,) = story.all(Status.REJECTED)
    assert f"reject stands for {rejected.id}" in chat.stdout
    assert "[declined] Refund of 160.00 USD on order ORD-1001: declined. outside the window" in (
        chat.stdout
    )
    assert story.paid() == []


def test_e_asks_for_amount_and_reason(story: Story, terminal: Terminal) -> None:
    proposes(story)
    story.model.says("You get 120.00 back.")
    answers = "e\n120,00\nused\ne\n999.00\nused\ne\n120.00\nused\n"
    chat = terminal.run(*CLARA, typed=f"my chair wobbles\n{answers}")
    assert chat.stderr.splitlines() == [
        "invalid: amount: '120,00' is not a plain decimal number such as 20.00",
        "invalid: amount: Only 160.00 USD of order ORD-1001 is left to refund.",
    ]
    assert story.paid() == [("ORD-1001", Money(12000, "USD"))]
    assert chat.stdout.count("[y/n/e]") == 3


def test_a_raised_amount_waits_for_somebody_else(story: Story, terminal: Terminal) -> None:
    proposes(story, "100.00")
    chat = terminal.run(*CLARA, typed="my chair wobbles\ne\n160.00\nthe whole chair\n")
    raised = story.only(Status.PENDING)
    assert raised.amount == Money(16000, "USD")
    assert chat.stdout.count("[y/n/e]") == 1
    assert story.paid() == []


def test_enter_leaves_a_request_waiting_and_it_is_not_asked_again(
    story: Story, terminal: Terminal
) -> None:
    proposes(story)
    story.model.says("Still waiting.")
    chat = terminal.run(*CLARA, typed="my chair wobbles\n\nany news?\n")
    assert chat.stdout.count("[y/n/e]") == 1
    assert "agent> Still waiting." in chat.stdout
    assert story.only(Status.PENDING).amount == Money(16000, "USD")


def test_who_may_not_decide_chats_on(story: Story) -> None:
    story.hire("clara", Role.REFUND_APPROVER, identities=[Identity("customer", "cus_clara")])
    for user, code in (("eve", "not_allowed"), ("clara", "self_approval")):
        proposes(story, f"10{len(user)}.00")
        story.model.says("Anything else?")
        chat = Terminal(story, user).run(*CLARA, typed="my chair wobbles\ny\nthanks\n")
        assert chat.stderr.startswith(f"{code}: ")
        assert "agent> Anything else?" in chat.stdout
    assert story.paid() == []
    assert len(story.all(Status.PENDING)) == 2


def test_a_visitor_is_not_asked_for_money(story: Story, terminal: Terminal) -> None:
    story.model.calls(story.refund_call("5.00"))
    story.model.says("Please sign in first.")
    chat = terminal.run("chat", typed="money\n")
    assert "you write as a visitor" in chat.stdout
    assert "agent> Please sign in first." in chat.stdout
    assert "[y/n/e]" not in chat.stdout


def test_a_hand_off_is_shown(story: Story, terminal: Terminal) -> None:
    story.model.calls(("call_1", "hand_off", '{"reason": "asked for a person"}'))
    story.model.says("A colleague takes over.")
    chat = terminal.run(*CLARA, typed="a person please\n")
    assert "[hand_off] A person from our team will take over here." in chat.stdout


def test_nothing_that_cannot_be_seen_reaches_the_terminal(story: Story, terminal: Terminal) -> None:
    proposes(story)
    story.model.answers.pop()
    story.model.says("see\u202e \x1b[2J\u200bthis")
    chat = terminal.run(*CLARA, typed="refund\u202e it\x07\n\n")
    assert "agent> see\\u202e \\u001b[2J\\u200bthis" in chat.stdout
    assert "customer said             refund\\u202e it\\u0007" in chat.stdout


@pytest.mark.parametrize("text", ["x" * 4001, "a\x00b"])
def test_a_message_that_cannot_be_is_refused_and_the_chat_goes_on(
    story: Story, terminal: Terminal, text: str
) -> None:
    story.model.says("Hello!")
    chat = terminal.run(*CLARA, typed=f"{text}\nhi\n")
    assert chat.stderr.startswith("invalid: text: ")
    assert "agent> Hello!" in chat.stdout


def test_what_is_not_text_in_the_terminals_encoding_ends_the_chat(terminal: Terminal) -> None:
    ended = terminal.run(*CLARA, typed=b"\xff\xfe\n", code=1)
    assert ended.stderr == "invalid: What was typed is not text in this encoding.\n"


def test_a_customer_the_shop_does_not_know(terminal: Terminal) -> None:
    refused = terminal.run("chat", "--customer", "cus_nobody", code=1)
    assert refused.stderr == "not_found: The shop knows no customer cus_nobody.\n"


def test_an_answer_that_takes_its_time_is_waited_for(story: Story, terminal: Terminal) -> None:
    story.model.breaks()
    story.model.says("Hello!")
    terminal.meanwhile = lambda: story.clock.advance(seconds=0.25)
    chat = terminal.run(*CLARA, typed="hi\n")
    assert chat.stdout.splitlines()[1:] == ["you> hi", "agent> Hello!", "you> "]
    assert sum(terminal.pauses) == 2
    assert chat.stderr == ""


def test_an_answer_that_does_not_come_is_shown_later(story: Story, terminal: Terminal) -> None:
    story.model.breaks()
    chat = terminal.run(*CLARA, typed="hi\n")
    assert chat.stderr == "still_working: What follows is shown after your next line.\n"
    assert sum(terminal.pauses) == 20


def proposes_email(story: Story) -> None:
    text = {"subject": "Your chair", "body": "Dear Clara,\nsorry."}
    story.model.calls(story.email_call("call_1", **text))
    story.model.says("A colleague looks at it.")


def test_e_asks_for_the_subject_and_the_text_of_an_email(story: Story, terminal: Terminal) -> None:
    proposes_email(story)
    story.model.says("It has been sent.")
    answers = "e\n\n.\nmore\ne\nYour broken chair\nDear Clara,\n\nvery sorry.\n.\nkinder\n"
    chat = terminal.run(*CLARA, typed=f"write me\n{answers}")
    assert chat.stderr == "invalid: edits: nothing is changed.\n"
    assert value(chat, "Subject") == "Your chair"
    (sent,) = story.all(Status.EXECUTED)
    assert sent.payload["subject"] == "Your broken chair"
    assert sent.payload["body"] == "Dear Clara,\n\nvery sorry."
    assert "changed the subject, the text" in chat.stdout
    assert "[done] E-mail: done" in chat.stdout


def test_a_part_of_an_email_that_is_left_stays(story: Story, terminal: Terminal) -> None:
    proposes_email(story)
    story.model.says("It has been sent.")
    terminal.run(*CLARA, typed="write me\ne\nYour broken chair\n.\nclearer\n")
    (sent,) = story.all(Status.EXECUTED)
    assert sent.payload["subject"] == "Your broken chair"
    assert sent.payload["body"] == "Dear Clara,\nsorry."


def test_a_flag_is_approved_or_rejected_but_not_edited(story: Story) -> None:
    story.hire("mia", Role.REFUND_MANAGER)
    story.model.calls(story.flag_call("0.81"))
    story.model.says("Anything else?")
    chat = Terminal(story, "mia").run(*CLARA, typed="hello\ne\ny\n")
    assert "Decide as cli:mia [y/n]: e" in chat.stdout
    assert "Error: 'e' is not one of 'y', 'n'" in chat.stdout
    assert value(chat, "score") == "0.81"
    assert len(story.all(Status.EXECUTED)) == 1
    # The customer never reads of it, however the terminal shows both sides.
    assert "[done]" not in chat.stdout
