"""Money: whole minor units, exact text both ways, and nothing read that had to be guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iso4217 import Currency

from agent.domain.errors import InvalidInput
from agent.domain.money import MAX_MINOR, Money, exponent, money_json, parse_money
from tests.support.builders import usd

CURRENCIES = sorted({c.code for c in Currency if c.exponent is not None})
currencies = st.sampled_from(CURRENCIES)
minors = st.integers(-MAX_MINOR, MAX_MINOR)


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        pytest.param("20", "USD", 2000, id="no decimals"),
        pytest.param("20.5", "USD", 2050, id="fewer decimals than it has"),
        pytest.param("20.00", "USD", 2000, id="all decimals"),
        pytest.param("0.01", "USD", 1, id="one cent"),
        pytest.param("0", "USD", 0, id="zero is the gate's business"),
        pytest.param("-5", "USD", -500, id="so is a negative amount"),
        pytest.param("-0", "USD", 0, id="minus zero is zero"),
        pytest.param("0007.10", "USD", 710, id="leading zeros"),
        pytest.param("  20.00\n", "USD", 2000, id="space around it"),
        pytest.param("1500", "JPY", 1500, id="yen have no decimals"),
        pytest.param("1.234", "KWD", 1234, id="dinars have three"),
        pytest.param("1.2345", "CLF", 12345, id="some have four"),
        pytest.param("9999999999.99", "USD", MAX_MINOR, id="the largest"),
        pytest.param("-9999999999.99", "USD", -MAX_MINOR, id="the smallest"),
        pytest.param("999999999999", "JPY", MAX_MINOR, id="the largest in yen"),
    ],
)
def test_a_plain_decimal_number_is_read_exactly(text: str, currency: str, minor: int) -> None:
    assert parse_money(text, currency) == Money(minor, currency)


@pytest.mark.parametrize(
    ("text", "currency", "problem"),
    [
        pytest.param("", "USD", "plain decimal", id="nothing"),
        pytest.param(" \t\n", "USD", "plain decimal", id="white space"),
        pytest.param("NaN", "USD", "plain decimal", id="not a number"),
        pytest.param("sNaN", "USD", "plain decimal", id="signalling not a number"),
        pytest.param("Infinity", "USD", "plain decimal", id="infinity"),
        pytest.param("-inf", "USD", "plain decimal", id="minus infinity"),
        pytest.param("1e3", "USD", "plain decimal", id="an exponent"),
        pytest.param("1,234.50", "USD", "plain decimal", id="grouped"),
        pytest.param("6,95", "USD", "plain decimal", id="a decimal comma"),
        pytest.param("1_000", "USD", "plain decimal", id="underscores"),
        pytest.param("1 000", "USD", "plain decimal", id="a space inside"),
        pytest.param("+5", "USD", "plain decimal", id="a plus sign"),
        pytest.param("--5", "USD", "plain decimal", id="two signs"),
        pytest.param(".5", "USD", "plain decimal", id="nothing before the point"),
        pytest.param("5.", "USD", "plain decimal", id="nothing after the point"),
        pytest.param("5.0.0", "USD", "plain decimal", id="two points"),
        pytest.param("$5", "USD", "plain decimal", id="a sign of the currency"),
        pytest.param("5 USD", "USD", "plain decimal", id="a code behind"),
        pytest.param("0x10", "USD", "plain decimal", id="hexadecimal"),
        pytest.param("\uff12\uff10", "USD", "plain decimal", id="full-width digits"),
        pytest.param("\u0662\u0660", "USD", "plain decimal", id="Arabic digits"),
        pytest.param("5\x00", "USD", "plain decimal", id="a NUL"),
        pytest.param("5" * 10_000, "USD", "plain decimal", id="10,000 digits"),
        pytest.param("0." + "0" * 10_000, "USD", "plain decimal", id="10,000 decimals"),
        pytest.param("10.555", "USD", "more decimals than USD allows (2)", id="a tenth of a cent"),
        pytest.param("0.5", "JPY", "more decimals than JPY allows (0)", id="half a yen"),
        pytest.param("1.2345", "KWD", "more decimals than KWD allows (3)", id="four in dinars"),
        pytest.param(
            "12345.000000000000000000000001",
            "USD",
            "more decimals",
            id="a trace is not rounded away",
        ),
        pytest.param(
            "-12345.000000000000000000000001", "USD", "more decimals", id="nor a negative trace"
        ),
        pytest.param(
            "9999999999.990000000000000000000001", "USD", "more decimals", id="nor one at the top"
        ),
        pytest.param("10000000000.00", "USD", "too large", id="one cent over the largest"),
        pytest.param("-10000000000.00", "USD", "too large", id="one cent under the smallest"),
        pytest.param("1000000000000", "JPY", "too large", id="10^12 yen"),
        pytest.param("1000000000000", "USD", "too large", id="10^12 dollars"),
    ],
)
def test_whatever_had_to_be_guessed_is_refused(text: str, currency: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_money(text, currency, field="edits.amount")
    assert refused.value.field == "edits.amount"
    assert problem in refused.value.problem
    assert len(refused.value.problem) < 120


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("", id="none"),
        pytest.param("usd", id="lower case"),
        pytest.param("QQQ", id="unknown"),
        pytest.param("DEM", id="withdrawn"),
        pytest.param("XAU", id="gold"),
        pytest.param("XXX", id="no currency"),
        pytest.param("USD ", id="a space"),
    ],
)
def test_only_a_currency_of_iso_4217_is_one(code: str) -> None:
    for refuse in (
        lambda: exponent(code),
        lambda: Money(1, code),
        lambda: parse_money("1", code),
    ):
        with pytest.raises(InvalidInput) as refused:
            refuse()
        assert refused.value.field == "currency"
        assert repr(code) in refused.value.problem


@pytest.mark.parametrize("minor", [True, 1.0, "1", None], ids=["bool", "float", "text", "none"])
def test_minor_units_are_a_whole_number(minor: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        Money(minor, "USD")  # type: ignore[arg-type]
    assert refused.value.field == "amount"


@pytest.mark.parametrize(
    ("money", "shown", "plain"),
    [
        pytest.param(Money(124000, "EUR"), "1,240.00 EUR", "1240.00", id="grouped"),
        pytest.param(Money(5, "USD"), "0.05 USD", "0.05", id="cents"),
        pytest.param(Money(0, "USD"), "0.00 USD", "0.00", id="zero"),
        pytest.param(Money(-123456, "USD"), "-1,234.56 USD", "-1234.56", id="negative"),
        pytest.param(Money(75000, "JPY"), "75,000 JPY", "75000", id="yen"),
        pytest.param(Money(1234567, "KWD"), "1,234.567 KWD", "1234.567", id="dinars"),
        pytest.param(Money(1045, "HUF"), "10.45 HUF", "10.45", id="ISO's decimals, not CLDR's"),
        pytest.param(Money(MAX_MINOR, "USD"), "9,999,999,999.99 USD", "9999999999.99", id="most"),
    ],
)
def test_an_amount_is_shown_to_the_last_digit(money: Money, shown: str, plain: str) -> None:
    assert str(money) == shown
    assert money.plain() == plain


@given(minor=minors, currency=currencies)
def test_what_is_shown_plainly_reads_back_as_the_same(minor: int, currency: str) -> None:
    money = Money(minor, currency)
    assert parse_money(money.plain(), currency) == money
    assert str(money) == f"{money.plain(grouped=True)} {currency}"
    assert money.plain(grouped=True).replace(",", "") == money.plain()


@given(text=st.text(max_size=40), currency=currencies)
def test_any_text_is_read_or_refused_and_never_breaks(text: str, currency: str) -> None:
    try:
        money = parse_money(text, currency)
    except InvalidInput:
        return
    assert abs(money.minor) <= MAX_MINOR
    assert parse_money(money.plain(), currency) == money


@given(whole=st.integers(0, 10**10 - 1), zeros=st.integers(0, 21), last=st.integers(1, 9))
def test_no_decimal_beyond_the_currency_is_dropped(whole: int, zeros: int, last: int) -> None:
    with pytest.raises(InvalidInput, match="more decimals"):
        parse_money(f"{whole}.00{'0' * zeros}{last}", "USD")


@given(one=minors, other=minors, currency=currencies)
def test_sums_differences_and_order_are_those_of_the_minor_units(
    one: int, other: int, currency: str
) -> None:
    this, that = Money(one, currency), Money(other, currency)
    assert this.plus(that) == Money(one + other, currency)
    assert this.minus(that) == Money(one - other, currency)
    assert this.plus(that).minus(that) == this
    assert this.exceeds(that) == (one > other)


def test_exceeding_means_more_and_not_the_same() -> None:
    assert usd("50.01").exceeds(usd("50.00"))
    assert not usd("50.00").exceeds(usd("50.00"))


@pytest.mark.parametrize("operation", ["plus", "minus", "exceeds"])
def test_two_currencies_never_meet(operation: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        getattr(usd("1"), operation)(Money(100, "EUR"))
    assert refused.value.field == "currency"
    assert refused.value.problem == "EUR is not USD"


def test_every_currency_has_between_no_and_four_decimals() -> None:
    assert {exponent(code) for code in CURRENCIES} == {0, 2, 3, 4}
    assert [exponent(code) for code in ("USD", "JPY", "KWD", "CLF")] == [2, 0, 3, 4]


def test_the_largest_amount_is_exact_in_every_json_reader() -> None:
    assert MAX_MINOR == 999_999_999_999
    assert MAX_MINOR < 2**53


def test_zeros_beyond_the_currency_are_read_only_where_an_export_wrote_them() -> None:
    with pytest.raises(InvalidInput):
        parse_money("2.500", "USD")
    assert parse_money("2.500", "USD", padded=True) == Money(250, "USD")
    assert parse_money("24800.00", "JPY", padded=True) == Money(24800, "JPY")
    with pytest.raises(InvalidInput):
        parse_money("2.501", "USD", padded=True)


def test_money_is_shown_in_minor_units_code_and_words() -> None:
    shown = {"minor": 16000, "currency": "USD", "display": "160.00 USD"}
    assert money_json(usd("160.00")) == shown
