"""Elements of HTML and SVG. All text that is not `Markup` yet goes through `to_markup`, the only place that escapes.

No untrusted text is the name of an element or attribute, or a script. The only untrusted address is an https link from
`--meta`.
"""

from __future__ import annotations

import re
from html import escape

from highbar.report.visible import revealed

_VOID = frozenset({"br", "input", "link", "meta"})
_SHAPES = frozenset({"circle", "line", "path", "rect"})
# CI commands, in case the page is printed to a CI log; as entities, a browser still shows them unchanged.
_ORDER = re.compile(r"::|##")
_ENTITIES = {"::": "&#58;&#58;", "##": "&#35;&#35;"}
Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is HTML already, and is not escaped again. Other modules may wrap only text that is escaped."""

    __slots__ = ()


EMPTY = Markup()


def to_markup(text: str) -> Markup:
    r"""`text` escaped for an element or an attribute, with invisible and control characters as escapes.

    >>> to_markup("<b onclick='x'>\x1b[2J\u202e")
    '&lt;b onclick=&#x27;x&#x27;&gt;\\x1b[2J\\u202e'
    """
    return Markup(_ORDER.sub(lambda found: _ENTITIES[found[0]], escape(revealed(text))))


def legible(text: str) -> str:
    """`text` with invisible characters as escapes, except newlines and tabs; not escaped as HTML."""
    return "\n".join("\t".join(map(revealed, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def element(name: str, /, *children: str | None, **attributes: Attribute) -> Markup:
    """An element. Children that are not `Markup` are escaped; empty ones are left out.

    `class_` stands for `class`, `aria_label` for `aria-label`. An attribute that is None or False is left out, and True
    is an attribute without a value.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    inside = join(*children)
    if name in _SHAPES and not inside:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{inside}</{name}>")


def join(*children: str | None) -> Markup:
    """The children in order, with texts escaped."""
    return Markup("".join(child if isinstance(child, Markup) else to_markup(child) for child in children if child))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{value:g}"' if isinstance(value, float) else f' {name}="{to_markup(str(value))}"'
