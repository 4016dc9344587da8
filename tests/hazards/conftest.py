"""The browser for what only a browser can show."""

from tests.chromium import chromium, open_page

__all__ = ["chromium", "open_page"]
