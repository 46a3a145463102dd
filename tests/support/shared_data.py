"""Data that lies beside the repository and not in it."""

from pathlib import Path

import pytest

_EXPORT = Path(__file__).parents[3] / "shared" / "data" / "orders_export.csv"


def full_export() -> Path:
    """Return the order export of 1,000 orders; skips the test only where the file is absent."""
    if not _EXPORT.exists():
        pytest.skip(f"{_EXPORT.name} is not beside the repository")
    return _EXPORT
