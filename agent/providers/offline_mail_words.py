"""An e-mail that a customer asks for, as they say it: to whom, about what, with which text."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from agent.providers.offline_orders import find_refs
from agent.providers.offline_transcript import Turn
from agent.providers.offline_words import MAX_READ, plain_text, quote

# As `send_email` takes them.
_MAX_SUBJECT, _MAX_TEXT, _MAX_RECIPIENTS = 150, 3_000, 10

_ADDRESS = re.compile(r"[^\s@<>\"'(),;:]{1,64}@[^\s@<>\"'(),;:]{1,190}")
_COPY = re.compile(r"(?P<kind>b?cc)\b[\s:]{0,3}(?:(?:to|and)\s)?$", re.IGNORECASE)
_SAYS = re.compile(
    r"(?:\b(?:(?:that|which|and|to|should|must) says?(?: that)?|saying(?: that)?|that reads|reading"
    r"|(?:that|which) tells (?:me|us|him|her|them)(?: that)?"
    r"|telling (?:me|us|him|her|them)(?: that)?"
    r"|with the (?:text|words|message))\b:?|\b(?:text|body|e-?mail|draft):)\s*(?P<words>\S.*)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:about|regarding|concerning|asking for|to ask for|because of)\s+(?P<words>\S.*)",
    re.IGNORECASE,
)
_QUOTES = "\"'\u201c\u201d\u201e\u2018\u2019\xab\xbb"
# Words of an address or of the wish itself, which say nothing about the text.
_NO_TOPIC = frozenset((
    "a", "about", "an", "and", "answer", "as", "at", "back", "by", "can", "copy", "could", "do",
    "draft", "email", "for", "from", "get", "give", "he", "hello", "hi", "how", "i", "id", "in",
    "info", "information", "is", "it", "like", "letter", "mail", "me", "message", "my", "need",
    "of", "on", "order", "please", "refund", "reply", "request", "see", "send", "she", "show",
    "template", "that", "the", "this", "to", "us", "want", "what", "with", "would", "write", "you",
    "your",
))  # fmt: skip
# What customers call things that a template may call otherwise.
_SYNONYMS = {
    "apologise": "apology", "apologize": "apology", "apologie": "apology", "sorry": "apology",
    "image": "photo", "label": "instruction", "late": "delay", "overdue": "delay", "pic": "photo",
    "picture": "photo", "photograph": "photo",
}  # fmt: skip
_SENT_BACK = re.compile(
    r"\b(?:send|give|bring)(?:ing)? (?:it|this|that|them|something|(?:the|my) [\w -]{1,40}?) back\b"
)


@dataclass(frozen=True, slots=True)
class MailWish:
    """What the customer wants to have written; the newest message counts first.

    Empty recipients mean the customer's own address; `says` and `about` are the customer's words.
    """

    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    says: str
    about: str
    topics: frozenset[str]

    @property
    def subject(self) -> str:
        """Return a subject for a text of one's own."""
        words = self.about or "a message from ShopStream"
        return quote(words[:1].upper() + words[1:], _MAX_SUBJECT)

    @property
    def body(self) -> str:
        """Return a text of one's own; the customer's words if they gave some."""
        words = self.says or f"this is about {self.about}."
        return f"Hello,\n\n{words}\n\nShopStream"


@dataclass(frozen=True, slots=True)
class Template:
    """A template of the policy as `check_policy` shows it."""

    name: str
    subject: str

    def about_order(self) -> bool:
        """Tell whether its subject names an order."""
        return "{order_id}" in self.subject

    def title(self, order_id: str) -> str:
        """Return its subject for an order, without the customer's name."""
        filled = self.subject.replace("{order_id}", order_id).replace("{name}", "")
        return " ".join(filled.split())


def read_mail_wish(turn: Turn) -> MailWish:
    """Return what is to be written, from the message and those that it answers a question about."""
    texts = [_clean(text) for text in turn.thread()]
    to, cc, bcc = _recipients(" ".join(texts))
    says = next((words for text in texts if (words := _after(_SAYS, text))), "")
    about = next((words for text in texts if (words := _after(_ABOUT, _head(text)))), "")
    topics = frozenset(word for text in texts for word in _topics(text))
    return MailWish(to, cc, bcc, says, about, topics)


def read_templates(value: object) -> tuple[Template, ...]:
    """Return the templates in a result of `check_policy`."""
    rows = value if isinstance(value, list) else []
    return tuple(
        Template(row["name"], row["subject"])
        for row in rows
        if isinstance(row, dict)
        and isinstance(row.get("name"), str)
        and isinstance(row.get("subject"), str)
    )


def fitting(wish: MailWish, templates: Sequence[Template]) -> tuple[Template, ...]:
    """Return the templates that fit the wish best, several if they fit it equally well."""
    scores = [len(wish.topics & _topics(f"{one.name} {one.subject}")) for one in templates]
    best = max(scores, default=0)
    return tuple(
        one for one, score in zip(templates, scores, strict=True) if score == best and score > 0
    )


def _clean(text: str) -> str:
    return quote(unicodedata.normalize("NFC", text), MAX_READ)


def _recipients(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the addresses named, each once, by whether they were named as copies."""
    found: dict[str, list[str]] = {"to": [], "cc": [], "bcc": []}
    seen: set[str] = set()
    for match in list(_ADDRESS.finditer(text))[:_MAX_RECIPIENTS]:
        address = match.group().rstrip(".!?").strip(_QUOTES)
        copy = _COPY.search(text[max(match.start() - 12, 0) : match.start()])
        if address.casefold() not in seen:
            found[copy["kind"].lower() if copy else "to"].append(address)
        seen.add(address.casefold())
    return tuple(found["to"]), tuple(found["cc"]), tuple(found["bcc"])


def _head(text: str) -> str:
    """Return what stands before the words that the e-mail is to say."""
    match = _SAYS.search(text)
    return text if match is None else text[: match.start()]


def _after(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    if match is None:
        return ""
    return quote(match["words"].strip(_QUOTES + " "), _MAX_TEXT)


def _topics(text: str) -> frozenset[str]:
    """Return the words that tell what a text is about, stems of one spelling."""
    plain = _SENT_BACK.sub("return", plain_text(_ADDRESS.sub(" ", text)))
    _, masked = find_refs(plain.replace("_", " "))
    masked = re.sub(r"\{\w+\}|\be-?mails?\b", " ", masked)
    stems = (_stem(word) for word in re.findall(r"[^\W\d_]{2,}", masked))
    return frozenset(_SYNONYMS.get(stem, stem) for stem in stems) - _NO_TOPIC


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 3:  # noqa: PLR2004 - of a word
            return word.removesuffix(ending)
    return word
