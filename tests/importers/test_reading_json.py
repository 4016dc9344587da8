"""JSON of strangers: one value at a time, strictly, and with the place of a fault."""

from __future__ import annotations

import io
import json
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.errors import InputError, Problem
from highbar.importers.reading import json as reading

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def parts(text: bytes, *arrays: str) -> list[tuple[str, object]]:
    return [(place, reading.decode_value(part)) for place, part in reading.json_parts(io.BytesIO(text), arrays)]


def refused(text: bytes, *arrays: str) -> Problem:
    with pytest.raises(InputError) as caught:
        parts(text, *arrays)
    (problem,) = caught.value.problems
    return problem


@given(st.dictionaries(st.text(), VALUES), st.booleans(), st.sampled_from([None, 0, 2]))
def test_the_members_of_a_document_are_what_json_reads_in_it(document, ascii_only, indent):
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return  # half of a surrogate pair has no UTF-8
    assert str([value for _, value in parts(data)]) == str(list(json.loads(text).values()))


@given(st.lists(VALUES), st.sampled_from([None, 0, 2]))
def test_the_elements_of_an_array_come_one_by_one(items, indent):
    text = json.dumps({"before": 1, "samples": items, "after": [2]}, indent=indent)
    found = parts(text.encode(), "samples")
    assert str(found) == str([("before", 1), *(("samples[]", item) for item in items), ("after", [2])])


def test_arrays_are_found_by_their_path_and_only_there():
    text = b'{"results": {"version": 3, "results": [1, 2], "deep": {"results": [3]}}, "other": {"results": [4]}}'
    assert parts(text, "results.results") == [
        ("results.version", 3),
        ("results.results[]", 1),
        ("results.results[]", 2),
        ("results.deep", {"results": [3]}),
        ("other", {"results": [4]}),
    ]


def test_a_document_may_be_an_array():
    assert parts(b' [1, {"a": []}] ', "") == [("[]", 1), ("[]", {"a": []})]


@pytest.mark.parametrize("text", [b'{"a": NaN, "b": [-Infinity]}', b'{"a": "\\ud800", "b": "x"}'])
def test_what_some_tools_write_and_json_forbids_is_read(text):
    assert str(dict(parts(text))) == str(json.loads(text))
    assert list(reading.members(text)) == ["a", "b"]


@pytest.mark.parametrize(
    "text", [b'{"a": 1, "a": 2}', b'{"b": {"a": 1, "a": 2}}', b'{"a": NaN, "a": 2}', b'[{"a":1,"a":1}]']
)
def test_a_key_that_stands_twice_is_refused(text):
    found = refused(text, "")
    assert (found.code, "'a'" in found.message) == ("import.duplicate", True)


def test_a_key_that_stands_twice_is_refused_where_members_are_opened():
    with pytest.raises(InputError, match="'passed'") as caught:
        reading.members(b'{"passed": false, "passed": true}')
    assert [problem.code for problem in caught.value.problems] == ["import.duplicate"]


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        (b"", "file.empty", ""),
        (b" \n", "file.empty", ""),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "file.git-lfs", ""),
        ('{"a": 1}'.encode("utf-16"), "file.not-utf8", "UTF-16"),
        (b'{"a": 1', "file.cut-off", ""),
        (b'{"a": [1, {"b": "', "file.cut-off", ""),
        (b'{"a": "x', "file.cut-off", ""),
        (b'{"a"', "file.cut-off", ""),
        (b'{"a": 1} {"a": 2}', "file.not-json", "at byte 9"),
        (b'{"a": 1 "b": 2}', "file.not-json", "at byte 8"),
        (b"{a: 1}", "file.not-json", "at byte 1"),
        (b"[1]", "file.not-json", ""),
        (b"12", "file.not-json", ""),
        (b'{"a": ' + b"[" * 100_000, "file.too-deep", ""),
        (b'{"a": "\xff"}', "file.not-utf8", ""),
    ],
)
def test_a_fault_is_named_with_its_place(text, code, named):
    found = refused(text)
    assert found.code == code
    assert named in f"{found.message} {found.hint}"


@given(st.dictionaries(st.text(), VALUES, min_size=1), st.data())
def test_a_document_that_is_cut_off_is_never_read(document, data):
    text = json.dumps(document).encode()
    length = data.draw(st.integers(0, len(text) - 1))
    refused(text[:length])


def test_values_that_reach_over_the_window_are_read_whole(monkeypatch):
    monkeypatch.setattr(reading, "_WINDOW", 7)
    document = {"version": 123456789, "samples": [{"text": "a" * 50, "n": NUMBER}, NUMBER, "é" * 20], "x": NUMBER}
    for text in (json.dumps(document), json.dumps(document, indent=3, ensure_ascii=False)):
        found = parts(text.encode(), "samples")
        assert [value for place, value in found if place == "samples[]"] == document["samples"]
        assert dict(found)["version"] == 123456789


NUMBER = 1234.5678901234567


def test_a_value_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "_WINDOW", 16)
    monkeypatch.setattr(reading, "LARGEST_VALUE", 100)
    assert refused(b'{"a": "' + b"x" * 10_000 + b'"}').code == "file.too-large"


def test_a_line_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_VALUE", 100)
    with pytest.raises(InputError) as caught:
        list(reading.numbered_lines(io.BytesIO(b"{}\n" + b"x" * 1000)))
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("file.too-large", 2)]


def test_memory_is_that_of_the_largest_element_not_of_the_file():
    element = b'{"text": "' + b"x" * 100_000 + b'"}'

    class Endless(io.RawIOBase):
        """A document of 200 MB that nobody holds."""

        def __init__(self):
            self.left = [b"]}"] + [element + b","] * 1999 + [b'{"samples": [' + element + b","]
            self.left[1] = element
            self.rest = b""

        def read(self, size=-1):
            while self.left and len(self.rest) < size:
                self.rest += self.left.pop()
            given_now, self.rest = self.rest[:size], self.rest[size:]
            return given_now

    tracemalloc.start()
    count = sum(1 for place, _ in reading.json_parts(Endless(), {"samples"}) if place == "samples[]")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2000
    assert peak < 16 * 1024 * 1024


@pytest.mark.parametrize("key", ["a", "a\\\\", 'a\\"', 'a\\":', "\\u0061"])
@pytest.mark.parametrize("number", ["1", "0.0000081", "-0", '"\\/"', '"\\":"', '"\\\\"'])
def test_a_key_that_stands_twice_is_refused_however_numbers_and_texts_are_spelled(key, number):
    twice = f'{{"x": {number}, "b": {{"{key}": 1, "c": {number}, "{key}": 2}}}}'.encode()
    with pytest.raises(InputError) as caught:
        reading.decode_value(twice)
    assert [problem.code for problem in caught.value.problems] == ["import.duplicate"]
    once = f'{{"x": {number}, "b": {{"{key}": 1, "c": {number}, "{key}2": 2}}}}'.encode()
    assert len(reading.decode_value(once)["b"]) == 3


def test_the_end_of_a_value_is_found_whatever_msgspec_says_about_the_text_after_it(monkeypatch):
    text = b'{"a": [1, {"b": "]}"}], "samples": [ {"c": "\\"" } , 1.5, null], "d": "x"}'
    found = parts(text, "samples")
    monkeypatch.setattr(reading, "_AFTER", re.compile("never said"))
    assert parts(text, "samples") == found
    assert [place for place, _ in found] == ["a", "samples[]", "samples[]", "samples[]", "d"]
