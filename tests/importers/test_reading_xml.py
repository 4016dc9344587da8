"""XML of strangers: no document type, no entity, no depth, and no tag that never ends."""

from __future__ import annotations

import io

import pytest

from highbar.errors import InputError
from highbar.importers.reading import xml as reading
from tests.importers.imported import refusal, written

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


@pytest.mark.hazard("H112")
@pytest.mark.parametrize("text", [BOMB, OUTSIDE, ELSEWHERE, BARE])
def test_a_document_type_is_refused(tmp_path, text):
    assert "not allowed" in refusal("junit", written(tmp_path, "report.xml", text))


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
    with pytest.raises(InputError, match="nested deeper than 256"):
        events(b"<a>" * 100_000)


def test_a_tag_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_TAG", 1_000_000)
    with pytest.raises(InputError, match="a tag larger than"):
        events(b'<a b="' + b"x" * 5_000_000)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<testsuite><testcase>", "not sound XML"),
        (b"<testsuite>&nbsp;</testsuite>", "not sound XML"),
        (b"<testsuite>\x07</testsuite>", "not sound XML"),
        (b'<?xml version="1.0" encoding="no-such"?><testsuite/>', "not sound XML"),
        (b"<testsuite/><testsuite/>", "not sound XML"),
        (b"<testsuite>\xff</testsuite>", "not sound XML"),
        (b"<result/>", "found <result>"),
    ],
)
def test_a_fault_is_named(tmp_path, text, told):
    assert told in refusal("junit", written(tmp_path, "report.xml", text))


def test_other_encodings_are_read_as_they_declare_themselves(tmp_path):
    for encoding in ("utf-16", "iso-8859-1", "utf-8-sig"):
        declared = "" if encoding != "iso-8859-1" else '<?xml version="1.0" encoding="iso-8859-1"?>'
        text = f'{declared}<testsuite name="s"><testcase name="é"/></testsuite>'
        found = [event.attributes for event in reading.events(io.BytesIO(text.encode(encoding))) if event.attributes]
        assert found[-1] == {"name": "é"}
