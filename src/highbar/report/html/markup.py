"""Elements of HTML and SVG. Every text that is not markup already goes through `to_markup`, the one place that escapes.

Nothing untrusted is ever the name of an element or of an attribute, and no attribute here is an address or a script.
"""

from __future__ import annotations

import re
from html import escape

from highbar.report.visible import revealed

_VOID = frozenset({"br", "input", "link", "meta"})
_SHAPES = frozenset({"circle", "line", "path", "rect"})
# Orders to a CI runner, should the page be printed into its log; as entities they are shown as they are.
_ORDER = re.compile(r"::|##")
_ENTITIES = {"::": "&#58;&#58;", "##": "&#35;&#35;"}
Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is HTML already: made here, by `element` and `join` alone."""

    __slots__ = ()


EMPTY = Markup()


def to_markup(text: str) -> Markup:
    r"""`text` as it is to be read, in an element or in an attribute; what would act or hide is written out.

    >>> to_markup("<b onclick='x'>\x1b[2J\u202e")
    '&lt;b onclick=&#x27;x&#x27;&gt;\\x1b[2J\\u202e'
    """
    return Markup(_ORDER.sub(lambda found: _ENTITIES[found[0]], escape(revealed(text))))


def legible(text: str) -> str:
    """`text` with invisible characters revealed, except line ends and tabs: for a script that sets it as text."""
    return "\n".join("\t".join(map(revealed, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def element(name: str, /, *children: str | None, **attributes: Attribute) -> Markup:
    """An element. Children that are not Markup are text; None and False leave a child or an attribute out.

    `class_` is class, `aria_label` is aria-label; True is an attribute without a value.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    inside = join(*children)
    if name in _SHAPES and not inside:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{inside}</{name}>")


def join(*children: str | None) -> Markup:
    """Elements and texts, one after the other."""
    return Markup("".join(child if isinstance(child, Markup) else to_markup(child) for child in children if child))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{value:g}"' if isinstance(value, float) else f' {name}="{to_markup(str(value))}"'
