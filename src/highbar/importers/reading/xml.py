"""Untrusted XML, tag by tag, in bounded memory. Refuses document types, and with them all entity attacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Literal, NamedTuple

from highbar.importers.limits import DEEPEST_TAG, LARGEST_TAG
from highbar.importers.reading.json import refuse_pointer
from highbar.importers.record import refuse

_CHUNK = 256 * 1024


class XmlEvent(NamedTuple):
    """The start or end of an element, by its name without the namespace, or text between tags, or a comment."""

    kind: Literal["start", "end", "text", "comment"]
    text: str
    attributes: dict[str, str]


def events(stream: IO[bytes]) -> Iterator[XmlEvent]:
    """The content of the document in order. One text may be split into several events."""
    # Only imports of XML need these three.
    from xml.etree.ElementTree import ParseError

    # Only imports of XML need these two.
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    _refuse_other_files(stream)
    target = _Target()
    parser = DefusedXMLParser(target=target, forbid_dtd=True)
    silent = 0
    try:
        while chunk := stream.read(_CHUNK):
            parser.feed(chunk)
            silent = 0 if target.found else silent + len(chunk)
            if silent > LARGEST_TAG:
                refuse("file.too-large", f"a tag larger than {LARGEST_TAG >> 20} MiB")
            yield from target.taken()
        parser.close()
        yield from target.taken()
    except DefusedXmlException:
        refuse(
            "file.not-allowed",
            "a document type or an entity is declared here, which is not allowed",
            hint="remove the <!DOCTYPE …>",
        )
    except (ParseError, ValueError, LookupError) as error:
        line = error.position[0] if isinstance(error, ParseError) else None
        refuse("file.not-xml", f"this is not sound XML: {error}", line=line)


def _refuse_other_files(stream: IO[bytes]) -> None:
    start = stream.read(64)
    stream.seek(0)
    refuse_pointer(start)
    if not start.strip():
        refuse("file.empty", "the file is empty")


class _Target:
    """Collects the events of the parser until `taken` returns them."""

    def __init__(self) -> None:
        self.found: list[XmlEvent] = []
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST_TAG:
            refuse("file.too-deep", f"nested deeper than {DEEPEST_TAG}")
        self.found.append(XmlEvent("start", _plain(tag), attributes))

    def end(self, tag: str) -> None:
        self._depth -= 1
        self.found.append(XmlEvent("end", _plain(tag), {}))

    def data(self, text: str) -> None:
        self.found.append(XmlEvent("text", text, {}))

    def comment(self, text: str) -> None:
        self.found.append(XmlEvent("comment", text, {}))

    def close(self) -> None:
        """Called by the parser at the end of the document; nothing to do."""

    def taken(self) -> list[XmlEvent]:
        found, self.found = self.found, []
        return found


def _plain(tag: str) -> str:
    """A name without its namespace."""
    return tag.rpartition("}")[2]
