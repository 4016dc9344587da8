"""A real Chromium that opens a report, and writes down what it tries: dialogs, requests, navigations, errors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.patience import PATIENCE_OF_PAGES

NAMES = ("chromium", "chromium-browser", "google-chrome")
# As root, without a screen, and without the calls home that a browser makes by itself.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}


def program() -> str:
    """Where the browser is; fails where there is none, because a skipped test proves nothing."""
    found = os.environ.get("HIGHBAR_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("no Chromium: scripts/setup installs it, HIGHBAR_CHROMIUM names one, -m 'not browser' does without")
    return found


def launched(stack: ExitStack) -> Browser:
    """The browser, until the stack closes."""
    playwright = stack.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=program(), args=FLAGS, timeout=PATIENCE_OF_PAGES)
    expect.set_options(timeout=PATIENCE_OF_PAGES)
    stack.callback(browser.close)
    return browser


@dataclass(slots=True)
class Visit:
    """A page that was opened, and what it did that a report must not do."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)  # requests that the policy of the page did not let out
    navigations: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def misdeeds(self) -> list[str]:
        """Everything but the one request for the file itself, which is also its one navigation."""
        return [*self.dialogs, *self.requests[1:], *self.navigations[1:], *self.errors]


Open = Callable[..., Visit]


def opener(browser: Browser, stack: ExitStack) -> Open:
    """Opens a file in a context of its own, until the stack closes; keyword arguments are those of the context."""

    def visit(file: Path, **options: Any) -> Visit:
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        context.set_default_timeout(PATIENCE_OF_PAGES)
        stack.callback(context.close)
        visited = watched(context.new_page())
        visited.page.goto(file.resolve().as_uri())
        return visited

    return visit


def watched(page: Page) -> Visit:
    """The page, with everything that it does written down."""
    visit = Visit(page)

    def dialog(opened: Any) -> None:
        visit.dialogs.append(opened.message)
        opened.dismiss()

    page.on("dialog", dialog)
    page.on("request", lambda request: visit.requests.append(request.url))
    page.on("requestfailed", lambda request: visit.stopped.append(request.url) if request.failure == "csp" else None)
    page.on("framenavigated", lambda frame: visit.navigations.append(frame.url))
    page.on("pageerror", lambda error: visit.errors.append(str(error)))
    page.on("console", lambda message: visit.errors.append(message.text))
    page.on("popup", lambda opened: visit.navigations.append(opened.url))
    page.on("download", lambda started: visit.requests.append(started.url))
    return visit
