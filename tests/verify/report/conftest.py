"""A real browser for the page, cut off from every network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cuda2npu.verify.comparison import Comparison
from cuda2npu.verify.report import PAGE, write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# --no-sandbox: in a container, and for root, Chromium has none.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OpenPage = Callable[..., "Page"]


def chromium() -> str:
    """Return the browser's path. Its absence is a failure; only a person can leave these tests out."""
    wanted = os.environ.get("CHROMIUM", "")
    if wanted == "none":
        pytest.skip("CHROMIUM=none: no browser was wanted")
    found = shutil.which(wanted) if wanted else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail(
            f"no {wanted or 'Chromium'}: run tools/install_browser.sh, or set CHROMIUM to its path, "
            "or to `none` to leave these tests out",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Write the report of a comparison and open its page; a request or an error in the console fails."""
    wrong: list[str] = []
    contexts = []

    def open_page(comparison: Comparison, lang: str = "en", **options: object) -> Page:
        write_report(comparison, tmp_path, lang)
        context = browser.new_context(offline=True, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        address = (tmp_path / PAGE).as_uri()
        page.on("request", lambda request: request.url == address or wrong.append(f"request: {request.url}"))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
