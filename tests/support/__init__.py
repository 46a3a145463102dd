"""What the tests share: real servers, hand-made ports, and the one way to do without something."""

import os
from typing import NoReturn

import pytest


def unavailable(what: str) -> NoReturn:
    """Skip the test for lack of `what`, or fail it where REQUIRE_ALL demands everything."""
    if os.environ.get("REQUIRE_ALL"):
        pytest.fail(f"REQUIRE_ALL is set, but there is no {what}", pytrace=False)
    pytest.skip(f"no {what} here")
