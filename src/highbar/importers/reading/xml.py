"""XML that a stranger wrote, element by element. A document type is refused, and with it every entity trick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from highbar.importers.reading.json import LFS_POINTER
from highbar.importers.record import refuse

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

DEEPEST = 256


def elements(stream: IO[bytes]) -> Iterator[tuple[str, Element]]:
    """("start" or "end", element), in the order of the document. The caller clears an element that it is done with."""
    from xml.etree.ElementTree import ParseError  # only imports of XML need these two

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    start = stream.read(64)
    stream.seek(0)
    if start.startswith(LFS_POINTER):
        refuse("this is a Git LFS pointer, not the file", hint="run `git lfs pull`")
    if not start.strip():
        refuse("the file is empty")
    depth = 0
    try:
        for event, element in iterparse(stream, events=("start", "end"), forbid_dtd=True):
            depth += 1 if event == "start" else -1
            if depth > DEEPEST:
                refuse(f"nested deeper than {DEEPEST}")
            yield event, element
    except DefusedXmlException:
        refuse("a document type or an entity is declared here, which is not allowed", hint="remove the <!DOCTYPE …>")
    except (ParseError, UnicodeError, ValueError, LookupError) as error:
        line = error.position[0] if isinstance(error, ParseError) else None
        refuse(f"this is not sound XML: {error}", line=line)
