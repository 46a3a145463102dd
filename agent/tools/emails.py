"""`send_email` proposes an e-mail; `compose_reply` shows a draft of one and sends nothing."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, ClassVar

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import override

from agent.desk import Desk
from agent.domain.approvals import Approval
from agent.domain.decision import Edits
from agent.domain.errors import InvalidInput
from agent.domain.ids import CustomerId
from agent.domain.mail_text import is_mail_text
from agent.domain.messages import (
    EmailFacts,
    EmailProposal,
    assess_email,
    email_tier,
    recheck_email,
)
from agent.domain.payload import Json, Payload, canonical
from agent.domain.policy import Policy
from agent.domain.risk import Finding, RunNow
from agent.ports import Customer, Mail, MailAccepted, MailAnswer
from agent.tools.base import Arguments, Caller, Tool, ToolClass, failure, one_line
from agent.tools.effects import (
    Bound,
    Effect,
    EffectAnswer,
    Judged,
    Reading,
    Recorded,
    Terms,
    customer_of,
    findings_of,
    order_of,
)
from agent.tools.faults import fault_words, first_fault
from agent.tools.order_facts import Question, standing
from agent.tools.orders import OrderReference, own_order
from agent.tools.refunds import Confidence, ModelReason
from storage import approvals
from storage.transaction import Tx

MAX_RECIPIENTS = 10
MAX_SUBJECT, MAX_BODY = 200, 12_000
_MESSAGE_DOMAIN = "supportdesk"


def checked_address(text: str) -> str:
    """Return a plain address, its domain in lower case; raises ValueError for anything else.

    Only ASCII: a domain in other scripts can look like another one, so it is kept in punycode,
    which the gate knows by sight.
    """
    try:
        found = validate_email(text.strip(), check_deliverability=False, allow_smtputf8=False)
    except EmailNotValidError as error:
        raise ValueError(f"{text[:80]!r} is not an address: {error}") from error
    return found.ascii_email or found.normalized


def own_address(customer: Customer) -> str:
    """Return the customer's address as the desk writes addresses; one that is none as it is."""
    try:
        return checked_address(customer.email)
    except ValueError:
        return customer.email


def _plain_text(text: str) -> str:
    if not is_mail_text(text):
        raise ValueError("holds control characters")
    return text


Address = Annotated[str, Field(max_length=254), AfterValidator(checked_address)]
Addresses = Annotated[tuple[Address, ...], Field(max_length=MAX_RECIPIENTS)]
Subject = Annotated[str, Field(min_length=1, max_length=MAX_SUBJECT), AfterValidator(one_line)]
MailBody = Annotated[str, Field(min_length=1, max_length=MAX_BODY), AfterValidator(_plain_text)]


class SendEmail(Arguments):
    """Arguments of `send_email`: a template of the policy, or subject and body of one's own."""

    template: Annotated[
        str | None, Field(max_length=64, description="a template's name; leave out for own text")
    ] = None
    order_id: OrderReference | None = None
    to: Annotated[
        Addresses | None, Field(description="leave out: the customer's own address is used")
    ] = None
    cc: Addresses = ()
    bcc: Addresses = ()
    subject: Subject | None = None
    body: MailBody | None = None
    reason: ModelReason
    confidence: Confidence = None


class ComposeReply(Arguments):
    """Arguments of `compose_reply`."""

    subject: Subject
    body: MailBody
    order_id: OrderReference | None = None


class _StoredMail(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    customer_id: str
    order_id: str | None
    template: str | None
    to: Annotated[list[str], Field(min_length=1)]
    cc: list[str]
    bcc: list[str]
    subject: str
    body: str


class _Changed(BaseModel):
    """What a person may change of an e-mail, checked as the agent's own words are."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    to: Annotated[Addresses, Field(min_length=1)]
    cc: Addresses
    bcc: Addresses
    subject: Subject
    body: MailBody


class EmailEffect(Effect):
    """An e-mail through the shop's mail server."""

    @property
    @override
    def can_look(self) -> bool:
        # A mail server cannot be asked later what became of a message.
        return False

    @override
    def bind(self, desk: Desk, caller: Caller, arguments: Arguments) -> Bound:
        asked = _arguments(arguments)
        customer = None if caller.customer_id is None else desk.shop.customer(caller.customer_id)
        order = None if asked.order_id is None else own_order(desk, caller, asked.order_id)
        named = asked.order_id if order is None else order.id
        subject, body = _text(desk.policy, asked, "" if customer is None else customer.name, named)
        own = () if customer is None else (own_address(customer),)
        payload: Payload = {
            "customer_id": caller.customer_id or CustomerId(""),
            "order_id": named,
            "template": asked.template,
            "to": list(asked.to or own),
            "cc": list(asked.cc),
            "bcc": list(asked.bcc),
            "subject": subject,
            "body": body,
        }
        _check_recipients(_recipients(payload))
        canonical(payload)
        return Bound(payload, asked.confidence, asked.reason, asked)

    @override
    def read(self, desk: Desk, payload: Payload) -> Reading:
        read_at, customer_id = desk.clock.now(), customer_of(payload)
        customer = None if customer_id is None else desk.shop.customer(customer_id)
        named = order_of(payload)
        order = None if named is None else desk.shop.order(named)
        theirs = order is not None and order.customer_id == customer_id
        address = None if customer is None else own_address(customer)
        return Reading(read_at, order_found=named is None or theirs, address=address)

    @override
    def lock(self, tx: Tx, reading: Reading) -> None:
        """Lock nothing: an e-mail draws on nothing that others share."""

    @override
    def judge(
        self, tx: Tx, desk: Desk, bound: Bound, reading: Reading, question: Question, now: datetime
    ) -> Judged:
        proposal = _proposal(bound.payload, bound.confidence)
        facts = _facts(tx, desk, reading, question, now)
        return Judged(assess_email(proposal, facts, desk.policy))

    @override
    def recheck(
        self,
        tx: Tx,
        desk: Desk,
        payload: Payload,
        reading: Reading,
        question: Question,
        now: datetime,
    ) -> Judged:
        facts = _facts(tx, desk, reading, question, now)
        # People have seen whom they approved it for; the policy only allows the customer's own.
        sent_to = _strings(payload["to"]) if question.automatic else None
        return Judged(recheck_email(facts, sent_to) or RunNow())

    @override
    def weigh(
        self, tx: Tx, desk: Desk, row: Approval, reading: Reading, question: Question, now: datetime
    ) -> tuple[Finding, ...]:
        facts = _facts(tx, desk, reading, question, now)
        return findings_of(assess_email(_proposal(row.payload, row.confidence), facts, desk.policy))

    @override
    def terms(self, policy: Policy, payload: Payload) -> Terms:
        rules = policy.emails
        within = timedelta(seconds=rules.decide_within_s)
        return Terms(email_tier(policy), within, rules.use_within_s, rules.at_deadline)

    @override
    def change(self, desk: Desk, payload: Payload, edits: Edits) -> Payload:
        if edits.amount is not None or edits.order_id is not None:
            raise InvalidInput("edits", "of an e-mail only recipients, subject and body change")
        wanted = {
            name: payload[name] if value is None else value
            for name, value in (
                ("to", edits.to),
                ("cc", edits.cc),
                ("bcc", edits.bcc),
                ("subject", edits.subject),
                ("body", edits.body),
            )
        }
        try:
            new = _Changed.model_validate(wanted)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidInput(str(first["loc"][0]), fault_words(first)) from error
        changed: Payload = payload | {
            "to": list(new.to),
            "cc": list(new.cc),
            "bcc": list(new.bcc),
            "subject": new.subject,
            "body": new.body,
        }
        if changed == payload:
            raise InvalidInput("body", "nothing is changed")
        # It is a person's text now, whatever it began as.
        changed["template"] = None
        _check_recipients(_recipients(changed))
        canonical(changed)
        return changed

    @override
    def describe_change(self, before: Payload, after: Payload) -> str:
        names = {"to": "the recipients", "cc": "Cc", "bcc": "Bcc", "subject": "the subject"}
        names["body"] = "the text"
        told = [words for name, words in names.items() if before[name] != after[name]]
        return ", ".join(told)

    @override
    def exceeds(self, before: Payload, after: Payload) -> bool:
        return not set(_recipients(after)) <= set(_recipients(before))

    @override
    def check(self, approval: Approval) -> None:
        _stored(approval)

    @override
    def run(self, desk: Desk, approval: Approval) -> EffectAnswer:
        return _recorded(desk.mailer.send(_mail(approval)))

    @override
    def look(self, desk: Desk, approval: Approval) -> EffectAnswer | None:
        found = desk.mailer.find(_mail(approval).message_id)
        return None if found is None else _recorded(found)


def _arguments(arguments: Arguments) -> SendEmail:
    if not isinstance(arguments, SendEmail):
        raise TypeError("send_email takes SendEmail")
    return arguments


def _text(policy: Policy, asked: SendEmail, name: str, order_id: str | None) -> tuple[str, str]:
    """Return subject and body: the template's, filled in by code, or the agent's own."""
    if asked.template is None:
        if asked.subject is None or asked.body is None:
            raise InvalidInput("body", "give subject and body, or a template")
        return asked.subject, asked.body
    template = policy.emails.templates.get(asked.template)
    if template is None:
        known = ", ".join(sorted(policy.emails.templates))
        raise InvalidInput("template", f"is not one of {known}")
    if asked.subject is not None or asked.body is not None:
        raise InvalidInput("template", "a template's text is not changed: leave out subject, body")
    if order_id is None and "{order_id}" in template.subject + template.body:
        raise InvalidInput("order_id", "this template is about an order")
    filled = {"name": _plain(name), "order_id": order_id or ""}
    subject = template.subject.format(**filled)
    if len(subject) > MAX_SUBJECT:
        raise InvalidInput("template", f"its subject has over {MAX_SUBJECT} characters here")
    return subject, template.body.format(**filled)


def _plain(name: str) -> str:
    """Return a name for the middle of a text, without anything that breaks its line."""
    return " ".join(name.split())


def _facts(tx: Tx, desk: Desk, reading: Reading, question: Question, now: datetime) -> EmailFacts:
    since = now - timedelta(seconds=desk.policy.emails.customer_window_s)
    customer = question.customer_id or CustomerId("")
    return EmailFacts(
        **standing(tx, desk, question, now),
        automatic_number=approvals.automatic_number(tx, customer, SEND_EMAIL.name, since),
        own_address=reading.address,
        order_found=reading.order_found,
        available=desk.mailer.available,
    )


def _proposal(payload: Payload, confidence: str | None) -> EmailProposal:
    template = payload["template"]
    return EmailProposal(
        template=template if isinstance(template, str) else None,
        to=_strings(payload["to"]),
        cc=_strings(payload["cc"]),
        bcc=_strings(payload["bcc"]),
        confidence=None if confidence is None else Decimal(confidence),
    )


def _strings(value: Json) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _recipients(payload: Payload) -> tuple[str, ...]:
    return tuple(a for name in ("to", "cc", "bcc") for a in _strings(payload[name]))


def _check_recipients(addresses: tuple[str, ...]) -> None:
    if len(addresses) > MAX_RECIPIENTS:
        raise InvalidInput("to", f"more than {MAX_RECIPIENTS} recipients")
    if len({address.casefold() for address in addresses}) != len(addresses):
        raise InvalidInput("to", "an address appears twice")


def _stored(approval: Approval) -> _StoredMail:
    try:
        return _StoredMail.model_validate_json(approval.payload_text)
    except ValidationError as error:
        raise first_fault(error, "payload") from error


def _mail(approval: Approval) -> Mail:
    stored = _stored(approval)
    return Mail(
        message_id=f"{approval.idempotency_key}@{_MESSAGE_DOMAIN}",
        to=tuple(stored.to),
        cc=tuple(stored.cc),
        bcc=tuple(stored.bcc),
        subject=stored.subject,
        body=stored.body,
        # Of the first try, so that every try is the same message.
        date=approval.first_sent_at or approval.created_at,
    )


def _recorded(answer: MailAnswer) -> EffectAnswer:
    if not isinstance(answer, MailAccepted):
        return answer
    return Recorded({"message_id": answer.message_id, "reply": answer.reply[:200]}, done=True)


def _compose(desk: Desk, caller: Caller, arguments: Arguments) -> Payload:
    if not isinstance(arguments, ComposeReply):
        raise TypeError("compose_reply takes ComposeReply")
    customer = None if caller.customer_id is None else desk.shop.customer(caller.customer_id)
    if customer is None:
        return failure("not_verified", "Please sign in to the shop first.")
    if arguments.order_id is not None and own_order(desk, caller, arguments.order_id) is None:
        return failure("not_found", "No such order was found for this customer.")
    draft: Payload = {
        "to": customer.email,
        "subject": arguments.subject,
        "body": arguments.body,
    }
    return {"ok": True, "status": "draft", "sent": False, "draft": draft}


SEND_EMAIL = Tool(
    name="send_email",
    description=(
        "Propose an e-mail to the customer. A template of the shop leaves at once; a text of "
        "your own waits for a person. Templates: see check_policy."
    ),
    arguments=SendEmail,
    tool_class=ToolClass.MESSAGE,
    side_effect="mutating",
    requires_confirmation=True,
    impact="moderate",
    reversible="no",
    triggers="the mail server delivers it; it cannot be called back",
)

COMPOSE_REPLY = Tool(
    name="compose_reply",
    description="Show the draft of an e-mail to the customer; nothing is sent.",
    arguments=ComposeReply,
    tool_class=ToolClass.DRAFT,
    side_effect="draft",
    requires_confirmation=False,
    impact="low",
    reversible="yes",
    triggers="nothing",
    read=_compose,
)
