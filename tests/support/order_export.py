"""A small order export in Shopify's columns, and rows to spoil it with."""

import csv
import io
from pathlib import Path

SMALL_EXPORT = Path(__file__).parents[1] / "data" / "orders_export_small.csv"


def small_export() -> list[bytes]:
    """Return the lines of the small export, the header first."""
    return SMALL_EXPORT.read_bytes().splitlines(keepends=True)


def header() -> list[str]:
    """Return the names of the columns."""
    (names,) = csv.reader([small_export()[0].decode()])
    return names


def line(**changes: str) -> bytes:
    """Return the first row of a good order, `#T1`, with some columns changed.

    A keyword is the column's name with `_` for each blank.
    """
    cells = {
        "Name": "#T1",
        "Email": "tess.moor@example.com",
        "Financial Status": "paid",
        "Fulfillment Status": "fulfilled",
        "Currency": "USD",
        "Total": "80.00",
        "Refunded Amount": "0.00",
        "Outstanding Balance": "0.00",
        "Created at": "2026-11-20 10:00:00 +0000",
        "Billing Name": "Tess Moor",
        "Lineitem quantity": "2",
        "Lineitem name": "Cushion",
        "Lineitem price": "40.00",
        "Lineitem sku": "CSH-1",
    }
    return _encode(cells | {name.replace("_", " "): value for name, value in changes.items()})


def more(**changes: str) -> bytes:
    """Return a further row of the order `#T1`, with some columns changed."""
    cells = {
        "Name": "#T1",
        "Email": "tess.moor@example.com",
        "Created at": "2026-11-20 10:00:00 +0000",
        "Lineitem quantity": "1",
        "Lineitem name": "Blanket",
        "Lineitem price": "0.00",
    }
    return _encode(cells | {name.replace("_", " "): value for name, value in changes.items()})


def export(*rows: bytes) -> list[bytes]:
    """Return these rows below the header."""
    return [small_export()[0], *rows]


def _encode(cells: dict[str, str]) -> bytes:
    text = io.StringIO()
    csv.DictWriter(text, header(), restval="", lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
