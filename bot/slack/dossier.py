"""Reading a page of a request's details from the own database: never more than the page needs."""

from collections.abc import Sequence
from datetime import datetime

from agent.domain.approvals import Approval, ApprovalView
from agent.domain.audit import AuditType
from agent.domain.ids import ActorId
from agent.domain.roles import Channel, Identity
from bot.slack.chats import chat_entry, words_of
from bot.slack.details import Leaf, request_entry, revealed_entry
from bot.slack.history import Happening, attempt_entry, history_entry
from bot.slack.intake import Shown
from bot.slack.paging import Entry, Reel
from bot.slack.parts import masked
from bot.slack.targets import PageTarget, Section
from storage import attempts, conversations, history, people
from storage.history import PastFact
from storage.transaction import Store, Tx

# A page holds fewer entries than this, so that one window shows where its neighbours begin.
_WINDOW = 50
# What happens by itself is told without the name of the process that did it.
_NOBODY = frozenset({Channel.TIMER.value, Channel.POLICY.value})
_BY_ITSELF = frozenset(
    {
        AuditType.CARD_POSTED.value,
        AuditType.PING_POSTED.value,
        AuditType.ALERT_POSTED.value,
        AuditType.DELIVERY_FAILED.value,
        AuditType.CUSTOMER_TOLD.value,
    }
)


def leaf_of(
    store: Store, shown: Shown, page: PageTarget, now: datetime, *, revealed: bool = False
) -> Leaf:
    """Return a page of a request as it was loaded; nothing is masked with `revealed`."""
    view = shown.view
    with store.transaction(write=False) as tx:
        return Leaf(
            view=view,
            people=shown.users,
            now=now,
            waiting=shown.waiting,
            page=page,
            reel=_reel(tx, shown, page, now, revealed=revealed),
            sections=_sections(view.approval),
        )


def _sections(approval: Approval) -> Sequence[Section]:
    always: tuple[Section, ...] = ("request", "conversation", "history")
    return (*always, "attempts") if approval.attempts else always


def _reel(tx: Tx, shown: Shown, page: PageTarget, now: datetime, *, revealed: bool) -> Reel:
    view, first = shown.view, max(page.entry - _WINDOW, 1)
    match page.section:
        case "request":
            whole = request_entry(view, shown.users, now, waiting=shown.waiting)
            return Reel([revealed_entry(view) if revealed else whole], 1, 1)
        case "conversation":
            return _chat(tx, view, first, revealed=revealed)
        case "history":
            facts = history.about(tx, view.approval, first - 1, 2 * _WINDOW)
            total = history.count_about(tx, view.approval)
            return Reel(_happenings(tx, facts), first, total)
        case "attempts":
            tries = attempts.of(tx, view.approval.id)
            return Reel([attempt_entry(one) for one in tries], 1, len(tries))


def _chat(tx: Tx, view: ApprovalView, first: int, *, revealed: bool) -> Reel:
    chat = view.approval.conversation_id
    conversation = conversations.get(tx, chat)
    events = conversations.events_after(tx, chat, first - 1, 2 * _WINDOW)
    entries: list[Entry] = []
    for event in events:
        said = words_of(event)
        entries.append(chat_entry(event, said if revealed else masked(view, said)))
    return Reel(entries, first, 0 if conversation is None else conversation.last_seq)


def _happenings(tx: Tx, facts: Sequence[PastFact]) -> list[Entry]:
    names: dict[str, str] = {}
    for fact in facts:
        if fact.actor not in names:
            names[fact.actor] = _name(tx, fact)
    return [
        history_entry(
            Happening(
                fact.at, fact.type, names[fact.actor], fact.channel, fact.approval_id, fact.data
            )
        )
        for fact in facts
    ]


def _name(tx: Tx, fact: PastFact) -> str:
    """Return who did something: by name where they are known, else as the trail has them."""
    provider, colon, subject = fact.actor.partition(":")
    known = people.get(tx, ActorId(fact.actor))
    if known is None and colon:
        known = people.find(tx, Identity(provider, subject))
    if known is not None:
        return known.name
    return "" if fact.channel in _NOBODY or fact.type in _BY_ITSELF else fact.actor
