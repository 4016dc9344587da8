"""The page around its sections: it fetches nothing, and only our own script and style are allowed.

The page's Content-Security-Policy allows these two by their digests, so that nothing else in the markup can run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from highbar.report.html.markup import EMPTY, Markup, element, join

_COLORS = {"pass": "#00705a", "fail": "#b03a00", "inconclusive": "#7a5c00"}
_SIGNS = {"pass": "M9 17l5 5 10-12", "fail": "M10 10l12 12M22 10L10 22", "inconclusive": "M9 16h14"}


def page(title: str, kind: str, sections: Iterable[Markup], *, scripted: bool) -> str:
    """The document with the common style; `kind` is the verdict, for the icon in the browser's tab."""
    return page_document(
        title, kind, sections, style=package_text("page.css"), script=package_text("page.js") if scripted else ""
    )


def page_document(title: str, kind: str, sections: Iterable[Markup], *, style: str, script: str) -> str:
    """The document with the given style and script; `elements.js` is put before the script."""
    script = f"{package_text('elements.js')}\n{script}" if script else ""
    head = element(
        "head",
        # First, because it applies only to what follows it.
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("link", rel="icon", href=_icon(kind)),
        Markup(f"<style>{style}</style>"),
    )
    run = Markup(f"<script>{script}</script>") if script else EMPTY
    skip = element("a", "Skip to the content", href="#main", class_="skip")
    body = element("body", skip, *sections, run)
    return f'<!DOCTYPE html>\n<html lang="en">\n{join(head)}\n{body}\n</html>\n'


@cache
def package_text(name: str, package: str = __package__) -> str:
    """A file of a package, by default of this one, without indentation, blank lines and whole-line comments."""
    text = files(package).joinpath(name).read_text("utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


def pack(value: Any) -> str:
    """The value as JSON, compressed for `DecompressionStream('deflate')`, as Base64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode())).decode("ascii")


def script_data(name: str, data: Mapping[str, Any]) -> Markup:
    """Data for the script. It has only packed texts, numbers and our own names, so that nothing ends the element."""
    return Markup(f'<script type="application/json" id="{name}">{json.dumps(data, default=dict)}</script>')


def _policy(style: str, script: str) -> str:
    """The Content-Security-Policy: fetch, send and frame nothing, and allow only this script and this style."""
    allowed = f"script-src {_digest(script)}; " if script else ""
    return (
        f"default-src 'none'; {allowed}style-src {_digest(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _icon(kind: str) -> str:
    color, sign = _COLORS.get(kind, "#555555"), _SIGNS.get(kind, "M16 8v12M16 24v1")
    drawn = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>"
        f"<circle cx='16' cy='16' r='15' fill='{color}'/>"
        f"<path d='{sign}' fill='none' stroke='white' stroke-width='4' stroke-linecap='round'/></svg>"
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode('ascii')}"
