"""XML that a stranger wrote, tag by tag, in bounded memory. A document type is refused, and entity tricks with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Literal

from highbar.importers.reading.json import LFS_POINTER
from highbar.importers.record import refuse

DEEPEST = 256
LARGEST_TAG = 64 * 1024 * 1024
"""The most bytes without a tag or text coming to an end: the parser holds them all."""

_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Event:
    """A tag that opens or closes, without its namespace, or a stretch of text between tags."""

    kind: Literal["start", "end", "text"]
    text: str
    attributes: dict[str, str]


def events(stream: IO[bytes]) -> Iterator[Event]:
    """What stands in the document, in its order. A text may come in several stretches."""
    from xml.etree.ElementTree import ParseError  # only imports of XML need these three

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
                refuse(f"a tag larger than {LARGEST_TAG >> 20} MiB")
            yield from target.taken()
        parser.close()
        yield from target.taken()
    except DefusedXmlException:
        refuse("a document type or an entity is declared here, which is not allowed", hint="remove the <!DOCTYPE …>")
    except (ParseError, ValueError, LookupError) as error:
        line = error.position[0] if isinstance(error, ParseError) else None
        refuse(f"this is not sound XML: {error}", line=line)


def _refuse_other_files(stream: IO[bytes]) -> None:
    start = stream.read(64)
    stream.seek(0)
    if start.startswith(LFS_POINTER):
        refuse("this is a Git LFS pointer, not the file", hint="run `git lfs pull`")
    if not start.strip():
        refuse("the file is empty")


class _Target:
    """Takes what the parser meets, until it is fetched."""

    def __init__(self) -> None:
        self.found: list[Event] = []
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            refuse(f"nested deeper than {DEEPEST}")
        self.found.append(Event("start", _plain(tag), attributes))

    def end(self, tag: str) -> None:
        self._depth -= 1
        self.found.append(Event("end", _plain(tag), {}))

    def data(self, text: str) -> None:
        self.found.append(Event("text", text, {}))

    def close(self) -> None:
        """The parser says that the document has ended; nothing is left to do."""

    def taken(self) -> list[Event]:
        found, self.found = self.found, []
        return found


def _plain(tag: str) -> str:
    """A name without its namespace."""
    return tag.rpartition("}")[2]
