"""The machine's Chromium, driven by Playwright without a browser of Playwright's own."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def has_chromium() -> bool:
    """Tell whether this machine has one."""
    return _found() is not None


@contextmanager
def running_chromium(home: Path) -> Iterator[Browser]:
    """Run it until the block ends, with a home of its own to write to."""
    env: dict[str, str | float | bool] = {"PATH": os.defpath, "HOME": str(home)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_found(), env=env)
        yield browser
        browser.close()


def _found() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)
