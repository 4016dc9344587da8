"""XML of strangers: no document type, no entity, no depth, and no tag that never ends."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from highbar.errors import InputError
from highbar.importers.reading import xml as reading
from tests.importers.imported import problems_of, written

BOMB = """<?xml version="1.0"?>
<!DOCTYPE lolz [
 <!ENTITY lol "lol">
 <!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
 <!ENTITY lol3 "&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;">
]>
<testsuite name="&lol3;"><testcase name="a"/></testsuite>"""
OUTSIDE = """<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><testsuite><testcase name="&x;"/></testsuite>"""
ELSEWHERE = """<!DOCTYPE testsuite SYSTEM "http://127.0.0.1:9/evil.dtd"><testsuite><testcase name="a"/></testsuite>"""
BARE = """<!DOCTYPE testsuite><testsuite><testcase name="a"/></testsuite>"""


def events(text: bytes) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in reading.events(io.BytesIO(text))]


def codes(folder: Path, text: str | bytes) -> list[str]:
    """The codes of the problems of a JUnit report."""
    return [problem.code for problem in problems_of("junit", written(folder, "report.xml", text))]


@pytest.mark.hazard("H112")
@pytest.mark.parametrize("text", [BOMB, OUTSIDE, ELSEWHERE, BARE])
def test_a_document_type_is_refused(tmp_path, text):
    assert codes(tmp_path, text) == ["file.not-allowed"]


def test_tags_and_texts_come_in_order_without_namespaces():
    text = b'<?xml version="1.0"?><s:testsuite xmlns:s="urn:x"><s:testcase name="a">hi</s:testcase></s:testsuite>'
    assert events(text) == [
        ("start", "testsuite"),
        ("start", "testcase"),
        ("text", "hi"),
        ("end", "testcase"),
        ("end", "testsuite"),
    ]


def test_deep_nesting_is_refused():
    with pytest.raises(InputError, match="256") as caught:
        events(b"<a>" * 100_000)
    assert [problem.code for problem in caught.value.problems] == ["file.too-deep"]


def test_a_tag_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_TAG", 1_000_000)
    with pytest.raises(InputError) as caught:
        events(b'<a b="' + b"x" * 5_000_000)
    assert [problem.code for problem in caught.value.problems] == ["file.too-large"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "file.empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "file.git-lfs"),
        (b"<testsuite><testcase>", "file.not-xml"),
        (b"<testsuite>&nbsp;</testsuite>", "file.not-xml"),
        (b"<testsuite>\x07</testsuite>", "file.not-xml"),
        (b'<?xml version="1.0" encoding="no-such"?><testsuite/>', "file.not-xml"),
        (b"<testsuite/><testsuite/>", "file.not-xml"),
        (b"<testsuite>\xff</testsuite>", "file.not-xml"),
        (b"<result/>", "import.other-file"),
    ],
)
def test_a_fault_is_named(tmp_path, text, code):
    assert codes(tmp_path, text) == [code]


def test_other_encodings_are_read_as_they_declare_themselves(tmp_path):
    for encoding in ("utf-16", "iso-8859-1", "utf-8-sig"):
        declared = "" if encoding != "iso-8859-1" else '<?xml version="1.0" encoding="iso-8859-1"?>'
        text = f'{declared}<testsuite name="s"><testcase name="é"/></testsuite>'
        found = [event.attributes for event in reading.events(io.BytesIO(text.encode(encoding))) if event.attributes]
        assert found[-1] == {"name": "é"}
