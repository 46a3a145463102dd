"""Reading Shopify's order export: what it says, and what is wrong with it."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain.money import Money
from agent.ports import OrderLine
from agent.providers.shopify_csv import count_lines, read_orders
from agent.providers.shopify_rows import BadRow, ImportedOrder
from tests.support.order_export import export, line, more, small_export
from tests.support.shared_data import full_export


def good(lines: list[bytes]) -> dict[str, ImportedOrder]:
    return {one.name: one for one in read_orders(lines) if isinstance(one, ImportedOrder)}


def bad(lines: list[bytes]) -> list[BadRow]:
    return [one for one in read_orders(lines) if isinstance(one, BadRow)]


def facts(rows: list[BadRow]) -> list[tuple[int, str, str]]:
    return [(row.row_number, row.order_name, row.field) for row in rows]


def test_an_order_is_read_from_all_of_its_rows() -> None:
    assert good(small_export())["#S2001"] == ImportedOrder(
        row_number=2,
        last_row=3,
        name="#S2001",
        reference="S2001",
        email="nora.lind@example.com",
        customer_name="Nora Lind",
        placed_at=datetime(2026, 11, 2, 9, 15, tzinfo=UTC),
        total=Money(8950, "USD"),
        captured=Money(8950, "USD"),
        refunded=Money(0, "USD"),
        cancelled=False,
        fulfillment="fulfilled",
        lines=(
            OrderLine("Felt slippers, size 38", "SLP-38", 1, Money(3950, "USD"), final_sale=False),
            OrderLine("Wool socks - grey", "SCK-GRY", 2, Money(2500, "USD"), final_sale=False),
        ),
    )


@pytest.mark.parametrize(
    ("name", "captured", "refunded", "cancelled"),
    [
        ("#S2001", Money(8950, "USD"), 0, False),
        ("#S2002", Money(12000, "USD"), 2000, False),
        ("#S2003", Money(6400, "USD"), 6400, True),
        ("#S2004", Money(0, "USD"), 0, False),
        ("#S2005", Money(0, "USD"), 0, True),
        ("#S2006", Money(4490, "EUR"), 0, False),
        ("#S2007", Money(6800, "JPY"), 0, False),
        ("#S2008", Money(0, "USD"), 0, False),
        ("#S2009", Money(5000, "USD"), 0, False),
    ],
)
def test_the_financial_status_says_what_was_captured(
    name: str,
    captured: Money,
    refunded: int,
    cancelled: bool,
) -> None:
    order = good(small_export())[name]
    assert order.captured == captured
    assert order.refunded == Money(refunded, captured.currency)
    assert order.cancelled is cancelled


def test_quotes_line_breaks_and_blank_columns_are_read() -> None:
    orders = good(small_export())
    assert orders["#S2002"].lines[0].name == 'Table lamp 12" - brass'
    assert orders["#S2003"].customer_name == 'Peter "Pete" Grant'
    assert (orders["#S2006"].row_number, orders["#S2006"].last_row) == (8, 11)
    assert orders["#S2006"].lines[1].sku == "NPK-4"
    assert orders["#S2004"].fulfillment == "unfulfilled"
    assert orders["#S2008"].customer_name == "Aiko Mori"
    assert orders["#S2008"].lines[0].sku == ""


def test_a_customer_is_written_in_lower_case_and_times_in_utc() -> None:
    order = good(small_export())["#S2002"]
    assert order.email == "nora.lind@example.com"
    assert order.placed_at == datetime(2026, 11, 3, 17, 40, tzinfo=UTC)
    assert order.placed_at.tzinfo is UTC


def test_a_byte_order_mark_and_dos_line_ends_do_no_harm() -> None:
    plain = small_export()
    dos = [b"\xef\xbb\xbf" + plain[0], *plain[1:]]
    dos = [row.replace(b"\n", b"\r\n") for row in dos]
    assert good(dos) == good(plain)


def test_empty_rows_are_passed_over() -> None:
    lines = export(b"\n", line(), b"," * 58 + b"\n", more(), b"\n")
    assert bad(lines) == []
    assert len(good(lines)["#T1"].lines) == 2


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("Name", "", "is missing"),
        ("Name", "<!channel>", "'<!channel>' is not an order number such as #1001"),
        ("Name", "#" + "9" * 41, "is not an order number"),
        ("Email", "", "is missing"),
        ("Email", "tess at example.com", "is not an e-mail address"),
        ("Email", "tess@moor@example.com", "is not an e-mail address"),
        ("Financial Status", "", "is missing"),
        ("Financial Status", "half paid", "'half paid' is not known"),
        ("Currency", "", "is missing"),
        ("Currency", "DOGE", "'DOGE' is not an ISO 4217 currency"),
        ("Total", "", "is missing"),
        ("Total", "eighty", "'eighty' is not a plain decimal number such as 20.00"),
        ("Total", "80,00", "is not a plain decimal number"),
        ("Total", "80.005", "more decimals than USD allows (2)"),
        ("Total", "-80.00", "is negative"),
        ("Total", "NaN", "is not a plain decimal number"),
        ("Total", "10000000000000", "the amount is too large"),
        ("Refunded Amount", "-1.00", "is negative"),
        ("Refunded Amount", "80.01", "80.01 USD is more than the 80.00 USD that were paid"),
        ("Created at", "", "is missing"),
        ("Created at", "2026-13-01 08:00:00 +0000", "is not a date such as"),
        ("Created at", "2026-10-01 08:00:00", "is not a date such as"),
        ("Created at", "0001-01-01 00:00:00 +0100", "is not a date such as"),
        ("Cancelled at", "yesterday", "'yesterday' is not a date such as"),
        ("Billing Name", "x" * 201, "is longer than 200 characters"),
        ("Billing Name", "Tess\x00Moor", "holds control characters"),
        ("Fulfillment Status", "y" * 41, "is longer than 40 characters"),
        ("Lineitem quantity", "", "is missing"),
        ("Lineitem quantity", "-2", "'-2' is not a number from 1 up"),
        ("Lineitem quantity", "0", "is not a number from 1 up"),
        ("Lineitem quantity", "1.5", "is not a number from 1 up"),
        ("Lineitem quantity", "٣", "is not a number from 1 up"),
        ("Lineitem name", "", "is missing"),
        ("Lineitem name", "z" * 301, "is longer than 300 characters"),
        ("Lineitem sku", "s" * 101, "is longer than 100 characters"),
        ("Lineitem price", "", "is missing"),
        ("Lineitem price", "-40.00", "is negative"),
        ("Lineitem price", "1e3", "is not a plain decimal number"),
    ],
)
def test_a_bad_value_is_named_and_only_its_order_is_left_out(
    column: str, value: str, problem: str
) -> None:
    spoiled = line(**{column.replace(" ", "_"): value})
    lines = export(spoiled, line(Name="#T2"))
    (row,) = bad(lines)
    assert (row.row_number, row.field) == (2, column)
    assert problem in row.problem
    assert list(good(lines)) == ["#T2"]


@pytest.mark.parametrize("status", ["refunded", "partially_refunded"])
def test_a_refund_without_an_amount_is_not_believed(status: str) -> None:
    (row,) = bad(export(line(Financial_Status=status)))
    assert (row.field, row.problem) == (
        "Refunded Amount",
        f"is zero for an order that is {status}",
    )


@pytest.mark.parametrize(
    ("outstanding", "problem"),
    [("", "is missing"), ("80.01", "80.01 USD is more than the total 80.00 USD")],
)
def test_a_partly_paid_order_tells_what_is_outstanding(outstanding: str, problem: str) -> None:
    (row,) = bad(export(line(Financial_Status="partially_paid", Outstanding_Balance=outstanding)))
    assert (row.field, row.problem) == ("Outstanding Balance", problem)


def test_decimals_that_say_nothing_are_read() -> None:
    order = good(export(line(Currency="JPY", Total="80.00", Outstanding_Balance="0.00")))["#T1"]
    assert order.total == Money(80, "JPY")


def test_a_blank_refunded_amount_is_zero() -> None:
    assert good(export(line(Refunded_Amount="")))["#T1"].refunded == Money(0, "USD")


def test_every_bad_row_of_an_order_is_named_and_none_of_it_is_read() -> None:
    lines = export(
        line(),
        more(Lineitem_price="free"),
        more(),
        more(Lineitem_quantity="-1"),
        line(Name="#T2"),
    )
    assert facts(bad(lines)) == [(3, "#T1", "Lineitem price"), (5, "#T1", "Lineitem quantity")]
    assert list(good(lines)) == ["#T2"]


def test_the_sentence_says_where_what_and_that_the_order_is_left_out() -> None:
    (row,) = bad(export(line(Total="80,00")))
    assert str(row) == (
        "row 2, Total: '80,00' is not a plain decimal number such as 20.00 (order #T1 is left out)"
    )


def test_rows_without_the_first_row_of_their_order_are_left_out() -> None:
    lines = export(more(), more(), line(Name="#T2"))
    assert facts(bad(lines)) == [(2, "#T1", "Financial Status")]
    assert list(good(lines)) == ["#T2"]


def test_a_nameless_row_spoils_the_order_that_it_goes_on_with() -> None:
    lines = export(line(), more(Name=""), line(Name="#T2"))
    assert facts(bad(lines)) == [(3, "#T1", "Name")]
    assert list(good(lines)) == ["#T2"]


def test_a_nameless_order_spoils_no_other() -> None:
    lines = export(line(), line(Name=""), more(Name=""), line(Name="#T2"))
    assert facts(bad(lines)) == [(3, "", "Name"), (4, "", "Name")]
    assert str(bad(lines)[0]) == "row 3, Name: is missing (it is left out)"
    assert list(good(lines)) == ["#T1", "#T2"]


def test_the_fields_of_an_order_stand_on_one_row() -> None:
    assert facts(bad(export(line(), line()))) == [(3, "#T1", "Name")]


@pytest.mark.parametrize("again", ["#T1", "t1", "T1"])
def test_an_order_that_comes_again_further_down_is_left_out_there(again: str) -> None:
    lines = export(line(), line(Name="#T2"), line(Name=again))
    (row,) = bad(lines)
    assert (row.row_number, row.problem) == (4, "the order stands in row 2 already")
    assert list(good(lines)) == ["#T1", "#T2"]


def test_a_row_with_other_columns_is_named() -> None:
    lines = export(line().replace(b"\n", b",surplus\n"), line(Name="#T2").rstrip(b",\n") + b"\n")
    assert [row.problem for row in bad(lines)] == [
        "has 60 columns, the first row has 59",
        f"has {lines[2].count(b',') + 1} columns, the first row has 59",
    ]


def test_a_quote_that_nobody_closes_spoils_one_order() -> None:
    open_quote = line().replace(b"Cushion", b'"Cushion')
    lines = export(line(Name="#T0"), open_quote, more(), *small_export()[1:])
    assert facts(bad(lines)) == [(3, "#T1", "row")]
    assert bad(lines)[0].problem == "the quotes do not match"
    assert list(good(lines)) == ["#T0", *good(small_export())]


def test_text_after_a_closed_quote_is_named() -> None:
    (row,) = bad(export(line().replace(b"Cushion", b'"Cushion" blue')))
    assert (row.order_name, row.problem) == ("#T1", "the quotes do not match")


def test_a_row_that_is_not_utf_8_spoils_one_order() -> None:
    lines = export(line(), more(Lineitem_name="Café").replace("é".encode(), b"\xe9"), more(Name=""))
    assert facts(bad(lines)) == [(3, "#T1", "row"), (4, "#T1", "Name")]
    assert bad(lines)[0].problem == "is not UTF-8"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "the file is empty"),
        ([b"\n", b"\n"], "the file is empty"),
        (["Name;Email\n".encode("utf-16")], "is not UTF-8"),
        ([b'Name,"Email\n', b"#1,a@example.com\n"], "the quotes do not match"),
        ([b"%PDF-1.7\n", b"\x00\x01\n"], "this is no order export: there is no column Name, Email"),
        (
            [small_export()[0].replace(b"Refunded Amount", b"Refunded"), line()],
            "this is no order export: there is no column Refunded Amount",
        ),
        (
            [small_export()[0].replace(b"Notes", b"Total"), line()],
            "two columns are called Total",
        ),
    ],
)
def test_a_header_that_will_not_do_is_said_once(lines: list[bytes], problem: str) -> None:
    (row,) = read_orders(lines)
    assert isinstance(row, BadRow)
    assert row.field == "header"
    assert problem in row.problem


def test_a_column_that_is_not_needed_may_be_absent() -> None:
    lines = export(line(Billing_Name=""))
    lines[0] = lines[0].replace(b"Cancelled at", b"Called off").replace(b"Shipping Name", b"To")
    assert good(lines)["#T1"].customer_name == "tess.moor@example.com"


@settings(deadline=None)
@given(st.data())
def test_a_stray_quote_costs_only_the_order_it_stands_in(data: st.DataObject) -> None:
    lines, before = small_export(), good(small_export())
    at = data.draw(st.integers(1, len(lines) - 1), label="line")
    place = data.draw(st.integers(0, len(lines[at]) - 1), label="place")
    lines[at] = lines[at][:place] + b'"' + lines[at][place:]
    after = good(lines)
    hit = {o.name for o in before.values() if o.row_number <= at + 1 <= o.last_row}
    assert {name: order for name, order in after.items() if name not in hit} == {
        name: order for name, order in before.items() if name not in hit
    }


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60)))
def test_no_bytes_whatever_break_the_reader(rows: list[bytes]) -> None:
    lines = export(line(Name="#T0"), *(row + b"\n" for row in rows))
    assert all(str(one) for one in read_orders(lines))


def test_lines_are_counted_as_the_import_counts_them() -> None:
    lines = small_export()
    last = list(read_orders(lines))[-1]
    assert isinstance(last, ImportedOrder)
    assert count_lines(io.BytesIO(b"".join(lines))) == last.last_row == len(lines)


def test_the_full_export_is_read_without_a_complaint() -> None:
    with full_export().open("rb") as lines:
        orders = list(read_orders(lines))
    assert len(orders) == 1000
    assert [one for one in orders if isinstance(one, BadRow)] == []
