"""The desk's own words in every language: complete, true to each outcome, and well put together."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from string import Formatter
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.asking import customer_words
from agent.domain.hand_offs import ended_words, joined_words
from agent.domain.languages import LANGUAGES, Language
from agent.domain.mailing import is_mailed, outcome_of, still_holds, write_letter
from agent.domain.wording import chip_text, declined_text, outcome_text, told_text
from agent.domain.words import words_in
from tests.support.builders import BOB, approval, email_approval, flag_approval, refund_payload, usd
from tests.support.doubles import START

S = Status
LANGUAGE = pytest.mark.parametrize("language", LANGUAGES)
WHY = "It was past the 30 days."
# A request in each way that it can stand, with what its sentences must say in each language.
STANDINGS: dict[str, Approval] = {
    "waiting": approval(),
    "approved": approval(status=S.APPROVED),
    "executed": approval(status=S.EXECUTED),
    "accepted": approval(status=S.EXECUTED, result={"provider_status": "pending"}),
    "unknown": approval(status=S.UNKNOWN),
    "failed": approval(status=S.FAILED),
    "came_back": approval(status=S.FAILED, result={"provider_status": "failed"}),
    "stale": approval(status=S.STALE),
    "declined": approval(status=S.REJECTED),
    "expired": approval(status=S.EXPIRED),
    "withdrawn": approval(status=S.CANCELLED),
    "called_off": approval(status=S.CANCELLED, decided_at=START),
    "replaced": approval(status=S.SUPERSEDED),
}
# (on the chip, in the sentence): what tells this outcome from every other.
MEANS: dict[Language, dict[str, tuple[str, str]]] = {
    "en": {
        "waiting": ("review", "review"),
        "approved": ("approved", "review"),
        "executed": ("done", "has been paid"),
        "accepted": ("accepted", "on its way"),
        "unknown": ("checking", "checking"),
        "failed": ("could not be completed", "nothing was paid"),
        "came_back": ("could not be completed", "has not reached you"),
        "stale": ("could not be completed", "something changed"),
        "declined": ("declined", "declined"),
        "expired": ("nobody decided in time", "No one decided"),
        "withdrawn": ("withdrawn", "withdrawn"),
        "called_off": ("called off by our team", "called off by our team"),
        "replaced": ("replaced", "replaced"),
    },
    "de": {
        "waiting": ("geprüft", "geprüft"),
        "approved": ("genehmigt", "geprüft"),
        "executed": ("erledigt", "wurde ausgezahlt"),
        "accepted": ("angenommen", "unterwegs"),
        "unknown": ("wir prüfen", "wir prüfen"),
        "failed": ("konnte nicht ausgeführt werden", "nichts ausgezahlt"),
        "came_back": ("konnte nicht ausgeführt werden", "Sie also nicht erreicht"),
        "stale": ("konnte nicht ausgeführt werden", "etwas geändert"),
        "declined": ("abgelehnt", "abgelehnt"),
        "expired": ("niemand hat rechtzeitig entschieden", "niemand rechtzeitig entschieden"),
        "withdrawn": ("zurückgezogen", "zurückgezogen"),
        "called_off": ("von unserem Team abgebrochen", "von unserem Team abgebrochen"),
        "replaced": ("ersetzt", "ersetzt"),
    },
    "es": {
        "waiting": ("revisarlo", "revisar"),
        "approved": ("aprobado", "revisar"),
        "executed": ("hecho", "se ha pagado"),
        "accepted": ("aceptado", "en camino"),
        "unknown": ("comprobando", "comprobando"),
        "failed": ("no se ha podido completar", "no se ha pagado nada"),
        "came_back": ("no se ha podido completar", "no está en su cuenta"),
        "stale": ("no se ha podido completar", "algo ha cambiado"),
        "declined": ("rechazado", "rechazado"),
        "expired": ("nadie decidió a tiempo", "Nadie decidió a tiempo"),
        "withdrawn": ("retirado", "retirado"),
        "called_off": ("anulado por nuestro equipo", "anulado por nuestro equipo"),
        "replaced": ("sustituido", "sustituido"),
    },
    "ar": {
        "waiting": ("مراجعة", "مراجعة"),
        "approved": ("تمت الموافقة", "مراجعة"),
        "executed": (": تم", "دُفع المبلغ"),
        "accepted": ("تم القبول", "في طريقه"),
        "unknown": ("نتحقق", "نتحقق"),
        "failed": ("تعذّر إكماله", "لم يُدفع أي مبلغ"),
        "came_back": ("تعذّر إكماله", "لم يصلك المبلغ"),
        "stale": ("تعذّر إكماله", "تغيّر"),
        "declined": ("مرفوض", "رفض فريقنا"),
        "expired": ("لم يتخذ أحد قرارًا", "لم يتخذ أحد قرارًا"),
        "withdrawn": ("تم سحبه", "تم سحب"),
        "called_off": ("ألغاه فريقنا", "ألغى فريقنا"),
        "replaced": ("حلّ محله", "حلّ طلب معدَّل محل"),
    },
    "ja": {
        "waiting": ("確認しています", "確認しています"),
        "approved": ("承認されました", "確認しています"),
        "executed": ("完了しました", "お支払いが完了しました"),
        "accepted": ("受け付けられました", "手続き中"),
        "unknown": ("確認しています", "引き続き確認しています"),
        "failed": ("完了できませんでした", "お支払いは行われていません"),
        "came_back": ("完了できませんでした", "お手元に届いていません"),
        "stale": ("完了できませんでした", "状況が変わった"),
        "declined": ("お断りしました", "お断りしました"),
        "expired": ("期限までに判断されませんでした", "期限までに判断されませんでした"),
        "withdrawn": ("取り下げられました", "取り下げられました"),
        "called_off": ("担当チームが取り消しました", "担当チームが取り消しました"),
        "replaced": ("置き換えられました", "置き換えられました"),
    },
}
# Said only where the money has left.
PAID = {
    "en": "has been paid",
    "de": "wurde ausgezahlt",
    "es": "se ha pagado.",
    "ar": "دُفع المبلغ",
    "ja": "お支払いが完了しました",
}


def by_name(value: object) -> Iterator[tuple[str, object]]:
    """Yield every text of a catalogue with the path to it."""
    assert is_dataclass(value)
    for field in fields(value):
        inner = getattr(value, field.name)
        if is_dataclass(inner):
            for name, text in by_name(inner):
                yield f"{field.name}.{name}", text
        else:
            yield field.name, inner


def gaps(text: object) -> list[str]:
    """Return what is put into a text, in the order of the alphabet."""
    return sorted({name for _, name, _, _ in Formatter().parse(str(text)) if name is not None})


@LANGUAGE
def test_every_language_has_every_sentence_with_the_same_gaps(language: Language) -> None:
    english, words = dict(by_name(words_in("en"))), dict(by_name(words_in(language)))
    assert {name for name, text in words.items() if text == ""} == set()
    assert {name: gaps(text) for name, text in words.items()} == {
        name: gaps(text) for name, text in english.items()
    }
    same = {name for name, text in words.items() if isinstance(text, str) and text == english[name]}
    patterns = {"chips.with_reason", "mails.subject"}
    assert same <= patterns | {"email.name", "email.title"} or language == "en"


@LANGUAGE
@pytest.mark.parametrize("standing", STANDINGS)
def test_each_outcome_is_said_so_that_nobody_takes_it_for_another(
    language: Language, standing: str
) -> None:
    row = STANDINGS[standing]
    on_chip, in_sentence = MEANS[language][standing]
    chip, told = chip_text(row, language=language), outcome_text(row, language=language)
    for said in (chip, told):
        assert "160.00 USD" in said
        assert "ORD-1001" in said
        assert not {"{", "}", "  "} & set(said)
        assert said.count("\u2068") == said.count("\u2069") == (2 if language == "ar" else 0)
    assert on_chip in chip
    assert in_sentence in told
    assert (PAID[language] in told) is (standing == "executed")
    sentences = [outcome_text(one, language=language) for one in STANDINGS.values()]
    assert sentences.count(told) == (2 if standing in {"waiting", "approved"} else 1)
    if language != "en":
        assert told != outcome_text(row)


@LANGUAGE
def test_what_people_wrote_is_passed_on_as_it_is(language: Language) -> None:
    for row in (STANDINGS["declined"], STANDINGS["called_off"]):
        assert WHY in chip_text(row, WHY, language)
        assert WHY in outcome_text(row, WHY, language)
    assert WHY in declined_text(STANDINGS["declined"], WHY, language)
    assert WHY not in outcome_text(STANDINGS["executed"], WHY, language)
    question = customer_words(approval(), "Where is the crack?", language)
    assert question.startswith("Where is the crack?\n\n")
    for words in ("2026", "UTC", "160.00 USD", "ORD-1001"):
        assert words in question
    for line in (joined_words(language, "Ana"), ended_words(language, "Ana")):
        assert "Ana" in line
    cut = approval(
        status=S.EXECUTED,
        amount=usd("120.00"),
        original=refund_payload(usd("160.00")),
        edited_by=(BOB,),
    )
    for amount in ("160.00 USD", "120.00 USD"):
        assert amount in told_text(cut, language=language)


@LANGUAGE
def test_other_things_than_money_are_spoken_of_without_money(language: Language) -> None:
    words = words_in(language)
    for make, thing in ((email_approval, words.email), (flag_approval, words.other)):
        bare = make(status=S.EXECUTED, order_id=None)
        assert chip_text(bare, language=language).startswith(thing.title)
        assert thing.done in outcome_text(bare, language=language)
        assert "ORD-1001" in chip_text(make(), language=language)


@LANGUAGE
def test_a_mail_says_what_the_chat_says(language: Language) -> None:
    mailed = [name for name, row in STANDINGS.items() if is_mailed(row)]
    assert mailed == [
        *("executed", "accepted", "failed", "came_back", "stale", "declined", "expired"),
        *("withdrawn", "called_off"),
    ]
    subjects = set()
    for name in mailed:
        row = STANDINGS[name]
        letter = write_letter(row, WHY, "Clara", language, None)
        assert letter.told == told_text(row, language=language)
        assert MEANS[language][name][1] in letter.told
        assert "ORD-1001" in letter.subject
        assert "160.00" not in letter.subject
        subjects.add(letter.subject)
    assert len(subjects) == len(mailed)
    assert write_letter(email_approval(status=S.FAILED), "", "", language, None).facts[0][1]


@pytest.mark.parametrize(
    ("changes", "outcome", "holds"),
    [
        ({"status": S.EXECUTED}, "executed", True),
        ({"status": S.EXECUTED}, "accepted", False),
        ({"status": S.EXECUTED, "result": {"provider_status": "pending"}}, "accepted", True),
        ({"status": S.FAILED}, "executed", False),
        ({"status": S.EXPIRED}, "expired", True),
        ({"status": S.EXPIRED, "superseded_by": "apr_new"}, "expired", False),
    ],
)
def test_an_outcome_holds_until_something_else_is_true(
    changes: dict[str, Any], outcome: str, holds: bool
) -> None:
    row = approval(**changes)
    assert still_holds(row, outcome) is holds
    assert (outcome_of(row) == outcome) is (holds or row.superseded_by is not None)


def test_what_nobody_is_mailed() -> None:
    assert not is_mailed(flag_approval(status=S.REJECTED))
    assert not is_mailed(email_approval(status=S.EXECUTED))
    assert is_mailed(email_approval(status=S.REJECTED))
