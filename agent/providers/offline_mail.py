"""E-mails: a template of the shop where one fits, the customer's own words, or a draft to look at.

A template to the customer's own address leaves at once; the gate lets everything else wait.
"""

from collections.abc import Sequence

from agent.providers.offline_answers import NO_ORDERS, SIGN_IN, UNABLE, UNREADABLE_RESULT
from agent.providers.offline_mail_words import (
    MailWish,
    Template,
    fitting,
    read_mail_wish,
    read_templates,
)
from agent.providers.offline_offers import ASK_MAIL, ASK_ORDER, OFFER_SEND
from agent.providers.offline_orders import SeenOrder
from agent.providers.offline_outcomes import edited_words, email_words
from agent.providers.offline_requests import EMAIL, edited_email
from agent.providers.offline_search import (
    Found,
    Missing,
    Question,
    find_orders,
    fresh_reads,
    order_reads,
    signed_out,
)
from agent.providers.offline_transcript import Call, Given, Move, Say, Step, Turn, Wanted
from agent.providers.offline_wish import Piece, read_wish
from agent.providers.offline_words import quote

_CONFIDENCE = "0.95"
_MAX_QUESTION = 500
_MOST_EMAILS = 5
_DRAFT = "compose_reply"


def plan_email(turn: Turn) -> Move:
    """Return the next move towards an e-mail."""
    if turn.results(EMAIL):
        return Say(" ".join(dict.fromkeys(mail_words(turn))))
    wish = read_mail_wish(turn)
    piece = read_wish(turn)[0]
    if wish.says or (wish.about and wish.to):
        return _propose(turn, [_own_text(wish, piece)])
    reads = fresh_reads(turn, [_policy_read(turn)])
    if reads:
        return Call(reads)
    templates = fitting(wish, _templates(turn))
    if len(templates) != 1:
        return _own_topic(turn, wish, piece) or Say(_which_mail(templates or _templates(turn)))
    orders = _orders(turn, piece, templates[0])
    if isinstance(orders, Say | Call):
        return orders
    return _propose(turn, [_from_template(wish, templates[0], one) for one in orders])


def plan_draft(turn: Turn) -> Move:
    """Return the next move towards a draft that is shown and not sent."""
    drafts = turn.results(_DRAFT)
    if drafts:
        return Say(_draft_words(drafts[-1]))
    wish = read_mail_wish(turn)
    piece = read_wish(turn)[0]
    reads = fresh_reads(turn, [_policy_read(turn)])
    if reads:
        return Call(reads)
    templates = fitting(wish, _templates(turn))
    rules = _rules(turn)
    if wish.says or not (templates and rules):
        if not wish.says and not wish.about:
            return Say(_which_mail(_templates(turn)))
        return Call((_draft(wish.subject, wish.body, _named(piece)),))
    orders = _orders(turn, piece, templates[0])
    if isinstance(orders, Say | Call):
        return orders
    body = f"Hello,\n\n{rules}\n\nShopStream"
    return Call((_draft(templates[0].title(orders[0]), body, orders[0]),))


def send_draft(turn: Turn) -> Move:
    """Return the next move after a yes to sending the draft that was shown last."""
    if turn.results(EMAIL):
        return Say(" ".join(dict.fromkeys(mail_words(turn))))
    shown = turn.last_proposal(_DRAFT)
    if shown is None:
        return Say(UNREADABLE_RESULT)
    kept = ("subject", "body", "order_id")
    told = {name: str(shown.arguments[name]) for name in kept if shown.arguments.get(name)}
    return _propose(turn, [told])


def mail_words(turn: Turn) -> list[str]:
    """Return what became of each e-mail proposed in this turn."""
    return [email_words(step, _title(turn, step)) for step in turn.results(EMAIL)]


def _propose(turn: Turn, mails: Sequence[Given]) -> Move:
    """Propose e-mails, but for those that a person has changed for good."""
    reason = f'The customer asks: "{quote(" / ".join(reversed(turn.thread())))}"'
    final = [edit for mail in mails if (edit := edited_email(turn, mail)) is not None]
    if final:
        return Say(edited_words(final[0]))
    said = {"reason": reason, "confidence": _CONFIDENCE}
    return Call(tuple(Wanted(EMAIL, {**mail, **said}) for mail in mails))


def _own_topic(turn: Turn, wish: MailWish, piece: Piece) -> Move | None:
    """Return a text of one's own where the topic is told and no template fits it."""
    if not wish.about or fitting(wish, _templates(turn)):
        return None
    return _propose(turn, [_own_text(wish, piece)])


def _own_text(wish: MailWish, piece: Piece) -> Given:
    return {
        **_about(_named(piece)),
        **_recipients(wish),
        "subject": wish.subject,
        "body": wish.body,
    }


def _from_template(wish: MailWish, template: Template, order_id: str) -> Given:
    return {"template": template.name, **_about(order_id), **_recipients(wish)}


def _about(order_id: str) -> Given:
    return {"order_id": order_id} if order_id else {}


def _recipients(wish: MailWish) -> Given:
    given = {"to": wish.to, "cc": wish.cc, "bcc": wish.bcc}
    return {name: list(addresses) for name, addresses in given.items() if addresses}


def _named(piece: Piece) -> str:
    """Return the one order that the words name, empty if they name none or several."""
    return piece.refs[0].reference if len(piece.refs) == 1 else ""


def _orders(turn: Turn, piece: Piece, template: Template) -> list[str] | Say | Call:
    """Return the orders an e-mail is about (an empty one for none), or what must come first."""
    reads = fresh_reads(turn, order_reads(turn, piece))
    if reads:
        return Call(reads)
    if signed_out(turn):
        return Say(SIGN_IN)
    hits = find_orders(turn, piece)
    found = [hit.order.id for hit in hits if isinstance(hit, Found)]
    if found:
        return list(dict.fromkeys(found))[:_MOST_EMAILS]
    told = [hit.words for hit in hits if isinstance(hit, Missing)]
    told += [hit.text for hit in hits if isinstance(hit, Question)]
    if told:
        return Say(told[0])
    # Where no money is left to refund there may still be something to write about.
    listed = turn.listed() or ()
    if len(listed) == 1:
        return [listed[0].id]
    if listed:
        shown = ", ".join(SeenOrder.brief(order) for order in listed)
        return Say(f"{ASK_ORDER} I see {shown}.")
    return Say(NO_ORDERS) if template.about_order() else [""]


def _policy_read(turn: Turn) -> Wanted:
    words = " / ".join(reversed(turn.thread()))
    return Wanted("check_policy", {"question": quote(words, _MAX_QUESTION)})


def _templates(turn: Turn) -> tuple[Template, ...]:
    checked = turn.results("check_policy")
    return read_templates(checked[-1].result.get("email_templates")) if checked else ()


def _rules(turn: Turn) -> str:
    """Return what the shop's rules say about it, empty if they are silent."""
    checked = turn.results("check_policy")
    passages = checked[-1].result.get("passages") if checked else None
    rows = passages if isinstance(passages, list) else []
    return next((str(row["text"]) for row in rows if isinstance(row, dict) and row.get("text")), "")


def _which_mail(templates: tuple[Template, ...]) -> str:
    titles = ", ".join(f'"{one.title("…")}"' for one in templates)
    known = f"I can send {titles}, or" if titles else "Please tell me, and"
    return f"{ASK_MAIL} {known} tell me what it shall say."


def _draft(subject: str, body: str, order_id: str) -> Wanted:
    return Wanted(_DRAFT, {"subject": subject, "body": body, **_about(order_id)})


def _draft_words(step: Step) -> str:
    draft = step.result.get("draft")
    if isinstance(draft, dict):
        to, subject, body = (str(draft.get(name, "")) for name in ("to", "subject", "body"))
        return (
            f"Here is a draft; nothing has been sent.\n\nTo: {to}\nSubject: {subject}\n\n{body}"
            f"\n\n{OFFER_SEND}"
        )
    match step.result.get("error"):
        case "not_verified":
            return SIGN_IN
        case "not_found":
            return f"I could not find {step.arguments.get('order_id')} among your orders."
        case _:
            return UNABLE


def _title(turn: Turn, step: Step) -> str:
    """Return the subject of a proposed e-mail as far as it is known here."""
    own, name = step.arguments.get("subject"), step.arguments.get("template")
    if isinstance(own, str):
        return own
    order_id = str(step.result.get("order_id") or step.arguments.get("order_id") or "")
    return next((one.title(order_id) for one in _templates(turn) if one.name == name), "")
