"""The forms over a request, and the pages of its details, by name."""

from datetime import datetime, timedelta

from agent.domain.approvals import Approval, ApprovalView, Snapshot, Status
from agent.domain.conversation import EventType, LogEvent
from agent.domain.payload import Payload
from agent.domain.roles import Role, Tier
from agent.steps.preview import Preview
from bot.slack import forms
from bot.slack.blocks import Block
from bot.slack.chats import chat_entry
from bot.slack.details import Leaf, details_view, request_entry, revealed_entry, revealed_view
from bot.slack.edits import Draft, Problem, edit_modal
from bot.slack.history import Happening, attempt_entry, history_entry
from bot.slack.modals import notice_modal, reject_modal
from bot.slack.names import Field
from bot.slack.paging import Entry, Reel
from bot.slack.parts import masked
from bot.slack.payloads import Form
from bot.slack.questions import ask_modal
from bot.slack.states import ended_words
from bot.slack.targets import PageTarget, Section
from storage.attempts import Attempt
from storage.breaker import StopNote
from tests.pictures.requests import NOW, PEOPLE, email, flag, refund, seen
from tests.support.builders import ANN, refund_payload, usd, vote
from tests.support.doubles import START

_SECTIONS: tuple[Section, ...] = ("request", "conversation", "history", "attempts")
_WAITING = seen(refund())
_REJECTED = seen(
    refund(status=Status.REJECTED),
    vote(
        ANN,
        "Ana Ribeiro",
        at=NOW,
        verdict="reject",
        reason="The return window of 30 days ended on 3 November.",
        category="not_eligible",
        note="Third time this month.",
    ),
)
_TALK = (
    ("customer", "Hi, my order ORD-1001 came today."),
    ("agent", "Hello Clara, I am sorry to hear of trouble. What is wrong with it?"),
    ("customer", "The chair arrived broken, one leg is split right through. I want my money back."),
    ("agent", "That needs a quick review by our team. I have asked for it."),
    ("customer", "You can call me on 0171 1234567 if you need a photo."),
)
_PAST: tuple[tuple[str, str, str, Payload], ...] = (
    ("proposal.parked", "", "policy", {}),
    ("card.posted", "", "slack", {}),
    ("decision.refused", "Sam Weber", "slack", {"code": "not_allowed", "verdict": "approve"}),
    ("card.revealed", "Ana Ribeiro", "slack", {"what": "request"}),
    (
        "approval.edited",
        "Ana Ribeiro",
        "slack",
        {
            "original": refund_payload(usd("160.00")),
            "edited": refund_payload(usd("120.00")),
            "reason": "They keep the cushion.",
        },
    ),
    ("vote.cast", "Ana Ribeiro", "slack", {"verdict": "approve"}),
    ("execution.claimed", "", "timer", {"attempt": 1}),
    ("execution.ended", "", "timer", {"refund_id": "re_3Nxy81", "provider_status": "succeeded"}),
)


def views() -> dict[str, Block]:
    """Return every form and page here, by name."""
    return _forms() | _pages()


def _forms() -> dict[str, Block]:
    large = seen(refund("1240.00", tier=Tier(Role.REFUND_MANAGER, 2)))
    ran = seen(refund("40.00", automatic=True, findings=(), status=Status.EXECUTED))
    over = Problem(Field.AMOUNT, "178.00 USD is left to refund on this order.")
    return {
        "edit": edit_modal(_WAITING, "C1"),
        "edit preview": edit_modal(_WAITING, "C1", _typed("120.00")),
        "edit problem": edit_modal(_WAITING, "C1", Draft(_form(amount="200.00"), over)),
        "edit email": edit_modal(seen(email()), "C1"),
        "edit email preview": edit_modal(seen(email()), "C1", _letter()),
        "reject": reject_modal(_WAITING, "C1"),
        "reject flag": reject_modal(seen(flag()), "C1"),
        "ask": ask_modal(_WAITING, "C1"),
        "break glass": forms.break_glass_modal(large, "C1"),
        "revoke": forms.revoke_modal(seen(refund(status=Status.APPROVED)), "C1"),
        "settle": forms.settle_modal(seen(refund(status=Status.UNKNOWN)), "C1"),
        "flag": forms.flag_modal(ran, "C1"),
        "stop": forms.stop_modal(),
        "lift": forms.lift_modal(StopNote("Olu Adeyemi", START, "The provider pays twice.")),
        "too late": notice_modal("Already decided", ended_words(_REJECTED)),
    }


def _pages() -> dict[str, Block]:
    told = [
        chat_entry(
            LogEvent(number, _at(number), EventType.MESSAGE, {"role": role}),
            masked(_WAITING, words),
        )
        for number, (role, words) in enumerate(_TALK, 1)
    ]
    past = [
        history_entry(Happening(_at(number), tag, who, channel, "apr_1", data))
        for number, (tag, who, channel, data) in enumerate(_PAST)
    ]
    answer: Payload = {"refund_id": "re_3Nxy81", "provider_status": "succeeded"}
    tries = [
        attempt_entry(Attempt(1, "rd-01ARZ3NDEKTSV4RRFFQ69G5FAV", _at(1), _at(2), "done", answer))
    ]
    whole = revealed_view(_leaf(_WAITING, "request", [revealed_entry(_WAITING)]))
    return {
        "details": details_view(_request(_WAITING), "C1", may_break_glass=True),
        "details ended": details_view(_request(_REJECTED), "C1"),
        "details email": details_view(_request(seen(email())), "C1"),
        "details conversation": details_view(_leaf(_WAITING, "conversation", told), "C1"),
        "details history": details_view(_leaf(_WAITING, "history", past), "C1"),
        "details tries": details_view(_leaf(_WAITING, "attempts", tries), "C1"),
        "revealed": whole,
    }


def _at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def _request(view: ApprovalView) -> Leaf:
    waits = view.approval.status is Status.PENDING
    return _leaf(view, "request", [request_entry(view, PEOPLE, NOW, waiting=waits)])


def _leaf(view: ApprovalView, section: Section, entries: list[Entry]) -> Leaf:
    # As if there were more of it, so that the way to the pages beside is drawn.
    more = 0 if section == "request" else 40
    return Leaf(
        view=view,
        people=PEOPLE,
        now=NOW,
        waiting=view.approval.status is Status.PENDING,
        page=PageTarget.at(view.approval, section),
        reel=Reel(entries, 1, len(entries) + more),
        sections=_SECTIONS,
    )


def _typed(amount: str) -> Draft:
    shown = refund()
    left = Snapshot(usd("198.00"), usd("198.00"), usd("20.00"), usd("178.00"))
    payload = refund_payload(usd(amount), customer_id=shown.customer_id)
    return Draft(_form(amount=amount), Preview(payload, left, shown.tier, counts=True))


def _letter() -> Draft:
    shown: Approval = email()
    body = str(shown.payload["body"]).replace("Thursday", "Friday")
    changed: Payload = {**shown.payload, "bcc": [], "body": body}
    form = _form(to="clara.nguyen@example.com", subject=str(changed["subject"]), body=body)
    return Draft(form, Preview(changed, None, shown.tier, counts=True))


def _form(**entered: str) -> Form:
    values = {name: {"value": {"value": words}} for name, words in entered.items()}
    values.setdefault("order", {"value": {"value": "ORD-1001"}})
    return Form.model_validate({"user": {"id": "U1"}, "view": {"state": {"values": values}}})
