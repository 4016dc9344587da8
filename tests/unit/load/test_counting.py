"""Results counted without the engine: right for every kind of line end, wherever the blocks are cut."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import highbar
from highbar.load import counting, footer, unpacking

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECES = st.lists(st.sampled_from([b"\n", b"\r\n", b" ", b"\t", b"{}", b'{"a": 1}', b"x" * 9]), max_size=30)
SIZES = st.integers(1, 40)
CELLS = st.lists(st.lists(st.sampled_from(["a", "", '"', "b\n", ",", "\r\n", "c"]), min_size=2, max_size=2), max_size=9)
ALL = {"thresholds": {"blocking": {"pass_rate": "100%"}}}


def cut(data, size):
    return [data[place : place + size] for place in range(0, len(data), size)]


@given(PIECES, SIZES)
def test_lines_are_those_that_are_not_blank(pieces, size):
    data = b"".join(pieces)
    assert counting.count_lines(cut(data, size)) == sum(bool(line.strip()) for line in data.split(b"\n"))


@given(CELLS, SIZES, st.sampled_from(["\n", "\r\n"]))
def test_records_are_those_that_python_reads(rows, size, end):
    text = io.StringIO()
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([["id", "passed"], *rows])
    data = text.getvalue().encode()
    assert counting.count_records(cut(data, size)) == len(rows)
    assert counting.records_one_by_one(io.BytesIO(data)) == len(rows)


def test_a_byte_order_mark_is_no_line():
    assert counting.count_lines([b"\xef\xbb\xbf\n{}\n"]) == 1


@pytest.mark.parametrize(("number", "length"), [(0, 0), (1, 0), (3, 0), (20_000, 0), (20_000, 7000)])
def test_elements_of_arrays_of_every_size_are_counted(number, length):
    rows = [{"id": f"scenario-{n}", "output": '],[{"' + "x" * length, "passed": True} for n in range(number)]
    assert counting.count_elements(cut(json.dumps(rows).encode(), 1 << 20)) == number


@pytest.mark.parametrize("text", [b"{}", b"[1", b"[1,", b"[1,]", b"[1] 2", b"[" + b" " * 300_000, b'"' * 300_001])
def test_what_is_no_array_is_not_counted(text):
    with pytest.raises(counting.Uncountable):
        counting.count_elements([text])


def test_the_limit_is_for_each_result_and_not_for_their_sum(monkeypatch):
    monkeypatch.setattr(counting, "LONGEST_RESULT", 10)
    assert counting.count_lines(cut(b"123456789\n" * 9, 7)) == 9
    assert counting.count_records(cut(b'1,"\n\n45",9\n' * 3, 4)) == 2
    for count, data in ((counting.count_lines, b"12345678901\n"), (counting.count_records, b'id\n1,"\n\n456789",9\n')):
        with pytest.raises(counting.TooLong):
            count(cut(data, 3))


@pytest.mark.parametrize("rows", [0, 1, 5_000])
@pytest.mark.parametrize("columns", [1, 20])
def test_the_footer_of_parquet_says_how_many_rows_there_are(tmp_path, rows, columns):
    table = pa.table({f"column {n}": pa.array(range(rows), pa.int64()) for n in range(columns)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1_000)
    assert footer.row_count(str(tmp_path / "a.parquet")) == rows


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"PAR1\x00\x00\x00\x00PAR1", b"PAR1\x15\x02\x01\x00\x00\x00PAR1", b"x" * 99]
)
def test_what_has_no_footer_is_not_counted(tmp_path, data):
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(counting.Uncountable):
        footer.row_count(str(tmp_path / "a.parquet"))


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=4), SIZES, st.sampled_from(["gzip", "zstd"]))
def test_streams_are_unpacked_one_behind_the_other_wherever_they_are_cut(texts, size, compression):
    pack = {"gzip": gzip.compress, "zstd": zstd.compress}[compression]
    data = b"".join(pack(text) for text in texts)
    assert b"".join(unpacking.unpack(cut(data, size), compression)) == b"".join(texts)
    for short in (data[:-1], data[: len(data) - len(pack(texts[-1])) + 5]):
        with pytest.raises(unpacking.Damaged):
            list(unpacking.unpack(cut(short, size), compression))


@pytest.mark.parametrize("long", [False, True])
def test_a_quote_inside_of_a_field_does_not_deceive(tmp_path, long):
    more = [f"s{number},true,{'x' * 1000}" for number in range(18_000 if long else 3)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["id,passed,output", 'a,true,5" screen', *more]) + "\n", encoding="utf-8")
    assert highbar.check(path, ALL).counts.trials == len(more) + 1
