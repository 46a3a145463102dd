"""What customers say, as tables of patterns, and how to read them."""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

# As much of a message as is read; the desk takes no longer ones.
MAX_READ = 4_000
MAX_QUOTE = 200


class Intent(StrEnum):
    """What a message is about."""

    ABOUT = "about"
    HUMAN = "human"
    AGAIN = "again"
    WITHDRAW = "withdraw"
    NEVER_MIND = "never_mind"
    DRAFT = "draft"
    EMAIL = "email"
    NEWS = "news"
    REPLACE = "replace"
    POLICY = "policy"
    REFUND = "refund"
    CANCEL = "cancel"
    COMPLAINT = "complaint"
    STATUS = "status"
    ORDER = "order"
    THANKS = "thanks"
    BYE = "bye"
    HELLO = "hello"
    FINE = "fine"


@dataclass(frozen=True, slots=True)
class Rule:
    """Words that show an intent, unless other words are there as well."""

    intent: Intent
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None = None


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in alternatives))


_NAMED_THING = _any(
    r"\bord-?[0-9]",
    r"#\s?w?[0-9]",
    r"\bw[0-9]{5}",
    r"\border (?:number |no\.? ?)?[0-9]{3}",
    r"[$€£¥]\s?[0-9]",
    r"\bmy (?:\w+ )?(?:order|package|parcel|delivery)\b(?! polic)",
)

# Before the verb of a plea.
_PLEASE = (
    r"(?:^|[.!?,;:] ?|\b(?:please|just|then|and|also|kindly|you to|(?:can|could|would|will) you) )"
)
# What an e-mail of the shop is about, besides "e-mail" itself.
_CONTENTS = (
    r"(?:instructions?|label|details|information|info|form|rules|policy|apology|photo|picture"
    r"|how|what|where|when)"
)

# Where a question begins, so that "I want to have it refunded" is none.
_ASKS = r"(?:^|[.!?,;:] ?|\b(?:and|so|but|hi|hello|hey) )"

# Read from the top; the first that fits tells the intent.
RULES: tuple[Rule, ...] = (
    Rule(
        Intent.ABOUT,
        _any(
            r"\bare you (?:an? )?(?:real|human|robot|bot|ai|machine|person|computer)\b",
            r"\b(?:who|what) are you\b",
            r"\bwhat (?:can|do) you do\b",
            r"\bhow (?:can|do) you help\b",
            r"^(?:please )?help(?: me)?(?: please)?\W*$",
        ),
    ),
    Rule(
        Intent.HUMAN,
        _any(
            r"\b(?:talk|speak|chat|connect|transfer|pass|put|hand|forward)\w*\b(?:\W+\w+){0,6}?\W+"
            r"(?:person|people|human|someone|somebody|agent|representative|rep|manager|supervisor"
            r"|colleague|operator|employee|staff|team|support|customer service)\b",
            r"\b(?:want|need|like|get|give|prefer|find|fetch|call|send)\w*\b(?:\W+\w+){0,3}?\W+"
            r"(?:an?|the|your) (?:\w+ )?(?:person|human|agent|representative|manager|supervisor"
            r"|operator|colleague)\b",
            r"\b(?:real|live|actual) (?:person|human|agent|someone)\b",
            r"\bhuman (?:being|agent|support|help)\b",
            r"\b(?:said|want|need|get|asked for) (?:a |an )?(?:human|person|agent|manager)\b",
            r"^(?:an? |the )?(?:human|person|agent|representative|operator|supervisor|manager)"
            r"(?: please)?\W*$",
            r"\b(?:is|are) there (?:an? |any |some)?(?:real )?(?:human|person|people|one|agent)",
            r"\b(?:someone|somebody|anyone|a person) (?:to )?(?:call|contact|help|speak|talk)\b",
            r"\bescalate\b",
            r"\bhand (?:me|this|it) (?:over|off)\b",
        ),
    ),
    Rule(
        Intent.AGAIN,
        _any(
            r"\b(?:ask|try|request|send|submit|propose|do)"
            r"(?: it| that| them| this| once| (?:the|that|my) (?:refund|request|e-?mail))? again\b",
            r"\b(?:retry|resubmit|re-submit|once more|another try|second try)\b",
        ),
    ),
    Rule(
        Intent.WITHDRAW,
        _any(
            r"\b(?:withdraw|cancel|stop|drop|revoke|undo|retract|scrap|take back|call off)"
            r"(?: (?!(?:orders?|and|or|then|it|please|just)\b)[\w#$€£¥%'-]+(?:[.,][0-9]+)*){0,5}?"
            r" (?:refunds?(?! (?:me|us|my|the|it))|requests?|e-?mails?)\b",
            r"\btake (?:my|the|that|this) (?:\w+ )?(?:refund|request|e-?mail)\w* back\b",
            r"\b(?:don't|do not|no longer) (?:want|need)(?: an?| the| any| my| that| this)*"
            r" ?(?:refund|money|request|e-?mail)\b",
            r"\b(?:don't|do not) (?:send|ask for) (?:me )?(?:the|that|this|any) "
            r"(?:refund|request|e-?mail)",
            r"\b(?:never ?mind|forget|leave)(?: about)? (?:the|my|that|this) (?:\w+ )?"
            r"(?:refund|request|e-?mail)\b",
            r"\bchanged my mind about (?:the|my|that) (?:\w+ )?(?:refund|request|e-?mail)",
        ),
        unless=_any(r"\b(?:replacement|exchange|replace)\b"),
    ),
    Rule(
        Intent.NEVER_MIND,
        _any(
            r"\b(?:never ?mind|forget (?:it|that|about (?:it|that)))\b",
            r"^(?:\W|sorry|oh|actually|well|but|please)*i(?:'ve| have)? changed my mind"
            r"(?: about (?:it|that|this))?\W*$",
            r"^(?:\W|sorry|oh|actually|well|then|no)*i(?:'ll| will|'d like to| would like to"
            r"| want to) keep (?:it|them)\b[^.?!]{0,20}\W*$",
        ),
        # What begins with these words and goes on with another wish is about that wish.
        unless=_any(
            r"\b(?:replacement|exchange|replace)\b",
            r"\b(?:never ?mind|forget (?:it|that|about (?:it|that)))\b"
            r"(?:\W|please|just|but|then|and|so|instead)*"
            r"(?:refund|give me|i(?:'d| would)? (?:want|like|need)|can|could|where|what|how|when"
            r"|why|show|send|e-?mail|write|draft|cancel|talk|let me)\b",
        ),
    ),
    Rule(
        Intent.DRAFT,
        _any(
            r"\b(?:show|see|read|give|make|prepare|write|compose|get)\b[^.?!]{0,80}"
            r"\b(?:a|the|your|that) (?:\w+ )?draft\b",
            rf"{_PLEASE}draft (?:me |us )?(?:an?|the|some|that)\b",
            rf"{_PLEASE}compose (?:me |us )?(?:an?|the) (?:\w+ )?(?:reply|answer|e-?mail|letter)",
        ),
    ),
    Rule(
        Intent.EMAIL,
        _any(
            rf"{_PLEASE}e-?mail (?:me|us|this|that|it|them|him|her|the|a|my|\S+@)",
            rf"{_PLEASE}mail (?:me|us|\S+@)",
            rf"{_PLEASE}(?:send|write|prepare)(?: out| up)?(?: me| us| him| her| them)?"
            r"(?: (?!(?:by|via|in|per|back)\b)[\w-]+){0,4}? (?:e-?mails?|mail)\b",
            rf"{_PLEASE}(?:send|forward|give) (?:me|us)\b[^.?!]{{0,80}}"
            r"\b(?:by|via|per|through|in|as|with|to my)(?: an?| my)? e-?mail\b",
            r"\b(?:send|forward|give|want|need|like|get|have|receive)\b[^.?!]{0,80}"
            rf"\b{_CONTENTS}\b[^.?!]{{0,80}}\b(?:by|via|per|to my) (?:e-?)?mail\b",
            rf"{_PLEASE}send (?:me |us )?(?:the |some |my |your )?(?:\w+ )?"
            r"(?:instructions|(?:return|shipping) (?:label|form))\b",
            r"\b(?:send|write) (?:an? )?(?:\w+ )?e-?mail to \S+@",
        ),
        unless=_any(
            r"\b(?:give|send) (?:me|us) (?:my |the |all )*(?:money|refund|a new|another"
            r"|a replacement|the right|the correct)\b"
        ),
    ),
    Rule(
        Intent.NEWS,
        _any(
            r"\b(?:any|some) (?:news|updates?|progress|word|response|answer|decision)\b",
            r"\bupdate (?:on|about|me)\b",
            r"\bwhat(?:'s| is)? ?"
            r"(?:about|up with|happening with|happened (?:to|with)|the status of)"
            r" (?:my|the|that|our) (?:\w+ )?(?:refund|money|request)",
            r"\bwhat (?:has |had )?(?:happened|became) (?:to|with|of) (?:my|the|that)"
            r" (?:\w+ )?(?:refund|money|request)",
            r"\bstatus of (?:my|the|that) (?:\w+ )?(?:refund|money|request)",
            r"\b(?:refund|request) status\b",
            r"\bwhere(?:'s| is) (?:my|the) (?:\w+ )?(?:refund|money)\b",
            r"\bhow is (?:my|the) (?:refund|request)\b",
            rf"{_ASKS}(?:has|have|was|is|did|were) (?:my|the|you|your team|they|i|it|that|anyone)\b"
            r"[^.?!]*\b(?:refund|request|money)\w*[^.?!]*"
            r"\b(?:approved|decided|declined|rejected|done|processed|through|sent|gone|arrived|paid)\b",
            rf"{_ASKS}(?:is|has|have|was|were) [^.?!]*\b(?:refunded|reimbursed)\b",
            rf"{_ASKS}(?:did|have|had) (?:you|they|i)\b[^.?!]*\b(?:refund(?:ed)?|request)",
            r"\bwhen (?:will|do|can|would) (?:i|we)\b[^.?!]*\b(?:refund|money)\b",
            r"\bwhen (?:will|does|is) (?:my|the) (?:refund|money|e-?mail)\b",
            rf"{_ASKS}(?:has|was|is) (?:my|the|that|your) (?:\w+ )?e-?mail\b[^.?!]{{0,80}}"
            r"\b(?:sent|gone|out|approved|declined|on its way)\b",
            r"\bwhy (?:was|is|did|has)\b[^.?!]*\b(?:refund|request|declined|rejected|denied)\b",
            r"\b(?:still waiting|heard (?:back|anything)|hear back)\b",
            r"^(?:and|so|well)?\W*(?:approved|decided|news|updates?)\?+$",
        ),
    ),
    Rule(
        Intent.REPLACE,
        _any(
            r"\b(?:replacement|exchange|swap|store credit|voucher|gift card)\b",
            r"\breplace (?:it|this|that|them|the|my)\b",
            r"\bsend (?:me )?(?:a new|another|the right|the correct)\b",
            r"\b(?:new|different|another) (?:one|size|colou?r) instead\b",
        ),
        unless=_any(
            r"\b(?:want|like|get|need|prefer) (?:a|my) (?:\w+ )?refund",
            r"\bmoney back\b",
            r"\bpolic(?:y|ies)\b",
            r"\bdo you\b",
            r"\b(?:can|may) i exchange an?\b",
        ),
    ),
    Rule(
        Intent.POLICY,
        _any(r"\bpolic(?:y|ies)\b", r"\b(?:terms|your rules|return window)\b"),
        unless=_any(r"\b(?:ignore|disregard|forget|override|bypass|no matter)\b"),
    ),
    Rule(
        Intent.POLICY,
        _any(
            r"\bhow (?:long|many days|soon|fast|quickly|much time)\b",
            r"\bhow (?:do|does|can|would|should) (?:i|we|you|one|the|your|a)?\b ?"
            r"(?:return|send|refunds?|returns?|cancel|exchange|ship|delivery|shipping|track)",
            r"\bhow (?:do|does) (?:refunds?|returns?|shipping|delivery|cancel\w*)\b",
            r"\bwhat (?:are|is)\b[^.?!]*\b(?:rules?|return|warranty|guarantee)\b",
            r"\bwhat (?:if|happens)\b",
            r"\bwhat (?:can|may|could) (?:i|we|be) (?:return|send back|refund)",
            r"\bdo (?:you|i)\b[^.?!]*\b(?:accept|offer|ship|deliver|refund|take|allow|charge|pay|"
            r"have to|need to)\b",
            r"\b(?:are|is) (?:returns?|refunds?|sale items|shipping|delivery|final.sale)\b",
            r"\b(?:warranty|guarantee|refundable|returnable)\b",
            r"\b(?:can|may|could) (?:i|we) (?:return|exchange|cancel|change|send back)\b"
            r"(?= (?:an? |items?|things?|something|anything|stuff|orders?|sale|final|clearance"
            r"|opened|used|unwanted|my address|the address|(?:after|within)))",
            r"\b(?:can|may|could) (?:i|we)\b[^.?!]*\b(?:after|within) [0-9]+ (?:day|week|month)",
            r"\bchange (?:my|the) (?:\w+ )?address\b",
        ),
        unless=_NAMED_THING,
    ),
    Rule(
        Intent.STATUS,
        _any(
            r"\bhow much (?:is|was|can|could|would|did|do|have)\b",
            r"\bwhat(?:'s| is) (?:still )?left\b[^.?!]*\?",
        ),
    ),
    Rule(
        Intent.REFUND,
        _any(
            r"\b(?:refund|reimburs|compensat|recompens|chargeback|overcharg)",
            r"\bmoney ?back\b",
            r"\bmy (?:\w+ )?money\b",
            r"\b(?:credit|repay) (?:me|us)\b",
            r"\bpay (?:me|us|it|that|this) ?back\b",
            r"\b(?:give|get|want|like|have|need|receive|see|take)\b[^.?!]*\bback\b",
            r"\breturn(?:ing)?\b",
            r"\b(?:send|take|bring)(?:ing)? [^.?!]{0,60}\bback\b",
            r"\bcharged\b[^.?!]*\b(?:twice|double|too much|extra)\b",
            r"\b(?:discount|price reduction|some money)\b",
        ),
    ),
    Rule(Intent.CANCEL, _any(r"\bcancel")),
    Rule(
        Intent.COMPLAINT,
        _any(
            r"\b(?:broken|broke|damaged?|defect\w*|faulty|scratch\w*|crack\w*|torn|stain\w*|dent\w*"
            r"|shatter\w*|smash\w*|lost|leak\w*|incomplete|missing|unusable|ruined|dirty|mouldy|moldy)\b",
            r"\bwrong (?:item|size|colou?r|product|one|thing|model|order|\w+)\b",
            r"\b(?:doesn't|does not|don't|do not|won't|will not|didn't|did not) "
            r"(?:work|fit|turn|start|charge|switch|open|close|arrive)",
            r"\b(?:stopped|not|isn't|never) work(?:ing|s|ed)?\b",
            r"\b(?:never|hasn't|has not|not|didn't|did not) "
            r"(?:arrived?|come|came|showed up|turned up)",
            r"\bnot (?:as described|what i (?:ordered|expected)|happy|satisfied)\b",
            r"\b(?:don't|do not|didn't) (?:like|want)\b",
            r"\bfell apart\b",
            r"\btoo (?:small|big|large|late|short|tight|loud)\b",
            r"\b(?:disappointed|unhappy|terrible|awful|poor quality|bad quality)\b",
            r"\b(?:is|was|were|are|came|arrived) (?:very |too )?late\b",
        ),
    ),
    Rule(
        Intent.STATUS,
        _any(
            r"\bwhere(?:'s| is| are| r)?\b",
            r"\b(?:track|shipped|ship|shipping|shipment|dispatched|deliver\w*|arriv\w*|eta)\b",
            r"\bon (?:its|the) way\b",
            r"\bstatus\b",
            r"\bwhen (?:will|is|does|do|can)\b",
            r"\bwhat (?:did|have) i (?:order|buy|bought)",
            r"\b(?:show|list|see|tell)\b[^.?!]*\borders\b",
        ),
    ),
    Rule(
        Intent.ORDER,
        _any(r"\borders?\b", r"\b(?:my|the) (?:parcel|package|purchases?)\b"),
    ),
    Rule(Intent.THANKS, _any(r"\b(?:thanks?|thank you|thx|ty|cheers|appreciated?|grateful)\b")),
    Rule(Intent.BYE, _any(r"\b(?:good ?bye|bye|see (?:you|ya)|good night|have a (?:nice|good))\b")),
    Rule(
        Intent.HELLO,
        _any(r"^\W*(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day))\b"),
    ),
    Rule(
        Intent.FINE,
        _any(
            r"^\W*(?:ok(?:ay)?|great|cool|perfect|alright|all right|fine|got it|understood|nice"
            r"|good|super|wonderful|awesome|sounds good|makes sense)\b[^?]{0,20}$"
        ),
    ),
)

_YES = _any(
    r"^\W*(?:yes|yeah|yep|yup|ya|y|sure|please|please do|go ahead|do it|do that|do so|of course"
    r"|absolutely|definitely|correct|exactly|why not|i would|i'd like that|that would be \w+"
    r"|ok(?:ay)?|alright|all right|fine|sounds good)\b[^?0-9]{0,40}$"
)
_FIRM_YES = _any(r"^\W*(?:yes|yeah|yep|yup|sure)\b")
_NO = _any(
    r"^\W*(?:no|nope|nah|not now|don't|do not|leave it|not really|rather not|that's all"
    r"|that is all|nothing|never ?mind)\b[^?0-9]{0,40}$"
)
_QUESTION = _any(
    rf"{_ASKS}(?:how|what|when|why|which|should|would|do|does|is|are|am)\b[^.!?]*\?",
    rf"{_ASKS}(?:can|could|may|might) (?:i|we) (?:still )?(?:return|send|bring|cancel)\b",
)
_THANKS = _any(r"\bthank|\bthx\b|\bcheers\b")

_TYPOGRAPHY = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc`"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
    ord("\u2044"): "/",
}


def plain_text(text: str) -> str:
    """Return the words to match against: lower case, one kind of quote, dash and blank."""
    folded = unicodedata.normalize("NFKC", text[:MAX_READ]).translate(_TYPOGRAPHY).lower()
    return " ".join(folded.split())


def intent_of(text: str) -> Intent | None:
    """Return what plain text is about, None when no rule knows."""
    for rule in RULES:
        if rule.pattern.search(text) and not (rule.unless and rule.unless.search(text)):
            return rule.intent
    return None


def complains(text: str) -> bool:
    """Tell whether plain text says that something is wrong with the goods."""
    return any(rule.pattern.search(text) for rule in RULES if rule.intent is Intent.COMPLAINT)


def only_asks(text: str) -> bool:
    """Tell whether plain text asks about a refund rather than for one."""
    return _QUESTION.search(text) is not None


def says_yes(text: str) -> bool:
    """Tell whether plain text agrees; `ok thanks` is a thank-you."""
    if not _YES.search(text):
        return False
    return says_firm_yes(text) or _THANKS.search(text) is None


def says_firm_yes(text: str) -> bool:
    """Tell whether plain text begins with a yes, whatever follows."""
    return _FIRM_YES.search(text) is not None


def says_no(text: str) -> bool:
    """Tell whether plain text turns an offer down."""
    return _NO.search(text) is not None


def quote(text: str, limit: int = MAX_QUOTE) -> str:
    """Return the customer's own words on one line, cut between code points.

    What cannot be seen is left out: controls, turned writing directions, halves of surrogates.
    """
    seen = "".join(c for c in " ".join(text[: 2 * MAX_READ].split()) if c.isprintable())
    return seen if len(seen) <= limit else seen[: limit - 1] + "…"
