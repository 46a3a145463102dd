"""What a channel need not read of a customer, by its shape; never what an approval binds."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain.privacy import Known, known, mask, mask_name

CLARA = known("Clara Nguyen", '{"to":["dana@example.com"],"order_id":"7001234567890"}')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I am Clara Nguyen.", "I am Clara N.."),
        (
            "write to clara.nguyen@mail.example.com, please",
            "write to c•••@mail.example.com, please",
        ),
        ("call +49 (0)171 1234567", "call •••67"),
        ("or 555-0199", "or •••99"),
        ("card 4242 4242 4242 4242, 12/29", "card •••42, 12/29"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN •••00"),
        ("12 Baker Street, London", "1•••, London"),
        ("Hauptstraße 12a, Berlin", "H•••, Berlin"),
    ],
)
def test_what_reaches_a_person_is_masked(text: str, shown: str) -> None:
    assert mask(text, CLARA) == shown


@pytest.mark.parametrize(
    "text",
    [
        "ORD-1001 came on 2026-11-29 for 1,240.00 EUR, not 1.234.567,00",
        "29.11.2026 at 12:00, 3 of 12",
        "v1.2.3.4.5.6.7.8",
        "dana@example.com and order 7001234567890",
        "",
    ],
)
def test_dates_money_and_what_is_bound_stay(text: str) -> None:
    assert mask(text, CLARA) == text


def test_a_name_keeps_its_first_word() -> None:
    assert mask_name("Clara Maria Nguyen") == "Clara M. N."
    assert mask_name("Prince") == "Prince"
    assert mask_name("\u2028 \r") == "\u2028 \r."
    assert mask_name("") == ""
    assert mask("nobody is named here", Known()) == "nobody is named here"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_an_address_is_masked_whatever_stands_around_it(text: str) -> None:
    shown = mask(f"{text} ana@example.com {text}", Known())
    assert "ana@example.com" not in shown
    assert "a•••@example.com" in shown


@pytest.mark.parametrize("text", ["a", "1 ", "A1", "a@", "Aa ", "1 Aa Aa Aa Aa ", "a.", "x@a."])
def test_no_text_makes_it_slow(text: str) -> None:
    long = text * (100_000 // len(text))
    started = time.process_time()
    mask(long, CLARA)
    assert time.process_time() - started < 2
