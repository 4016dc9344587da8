"""Rows that files hold and that were not judged: classes found by attack, each through the command line, by its id.

Every class has the same shape: beside a file that passes stands one that fails, and is lost. Then the run must not
pass: either both are read and it fails, or it is refused with the name of the file.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.engine import duckdb as engine
from tests.commandline import judged, refused, run

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

POLICY = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
GOOD = '{"id": "good", "passed": true}\n'
BAD = '{"id": "bad", "passed": false}\n'
MIB = 1024 * 1024
LIMIT = 16 * MIB


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "policy.json").write_text(json.dumps(POLICY), encoding="utf-8")
    (tmp_path / "good.jsonl").write_text(GOOD, encoding="utf-8")
    return tmp_path


def check(folder, *results):
    return run(folder, "check", *results, "--policy", "policy.json", "--format", "json")


def packed(data, name):
    return gzip.compress(data) if name.endswith(".gz") else zstd.compress(data) if name.endswith(".zst") else data


@pytest.mark.parametrize("name", ["bad.csv", "bad.csv.gz", "bad.csv.zst"])
@pytest.mark.parametrize("start", [b"\n\n", b"\r\n", b"\xef\xbb\xbf\n", b"  \n"])
def test_r01_a_csv_file_that_begins_with_a_blank_line_is_refused(folder, name, start):
    (folder / name).write_bytes(packed(start + b"id,passed\nbad,false\n", name))
    refused(check(folder, "good.jsonl", name), name, "the first line is blank", line=1)


def linked_folder(folder):
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "bad.jsonl").write_text(BAD, encoding="utf-8")
    (folder / "out" / "more").symlink_to(folder / "elsewhere")
    return "fail"


def broken_link(folder):
    (folder / "out" / "bad.jsonl").symlink_to(folder / "nowhere.jsonl")
    return "out/bad.jsonl"


def broken_folder(folder):
    (folder / "out" / "shard-2").symlink_to(folder / "nowhere")
    return "out/shard-2"


def fifo(folder):
    os.mkfifo(folder / "out" / "bad.jsonl")
    return "out/bad.jsonl"


def a_socket(folder):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(folder / "out" / "bad.jsonl"))
    return "out/bad.jsonl"


def loop(folder):
    (folder / "out" / "again").symlink_to(folder / "out")
    return "out/again"


def empty_folder(folder):
    (folder / "out" / "shard-2").mkdir()
    return "out/shard-2"


def subfolder(folder):
    (folder / "out" / "more.jsonl").mkdir()
    (folder / "out" / "more.jsonl" / "bad.jsonl").write_text(BAD, encoding="utf-8")
    return "fail"


@pytest.mark.parametrize("argument", ["out", "out/*", "out/**"])
@pytest.mark.parametrize(
    "made", [linked_folder, broken_link, broken_folder, fifo, a_socket, loop, empty_folder, subfolder]
)
def test_r05_what_a_folder_or_a_pattern_finds_is_read_or_refused(folder, made, argument, monkeypatch):
    monkeypatch.chdir(folder)  # the name of a socket is short
    (folder / "out").mkdir()
    shutil.move(folder / "good.jsonl", folder / "out" / "good.jsonl")
    expected = made(folder)
    done = check(folder, argument)
    if expected == "fail":
        assert judged(done, "fail")["counts"]["scenarios"] == 2
    else:
        refused(done, expected)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become another")
@pytest.mark.parametrize("argument", ["out", "out/*/*.jsonl", "out/**"])
def test_r05_a_subfolder_that_may_not_be_read_is_refused(folder, argument):
    for name, text in (("a", GOOD), ("b", BAD)):
        (folder / "out" / name).mkdir(parents=True)
        (folder / "out" / name / "results.jsonl").write_text(text, encoding="utf-8")
    (folder / "out" / "b").chmod(0)
    for above in (folder, *folder.parents[:-2]):
        above.chmod(0o755)
    highbar.check(folder / "out" / "a", POLICY)  # what Python loads late must be loaded by then
    os.seteuid(65534)
    try:
        with pytest.raises(highbar.InputError) as caught:
            highbar.check(str(folder / argument), POLICY)
    finally:
        os.seteuid(0)
    problems = {(problem.file.rstrip("/"), problem.message) for problem in caught.value.problems}
    assert (str(folder / "out" / "b"), "cannot be read: Permission denied") in problems


ROWS = "".join(f'{{"id": "s{number}", "passed": {json.dumps(number < 900)}}}\n' for number in range(1000)).encode()


@pytest.mark.parametrize("cut", [1, 9, 100])
@pytest.mark.parametrize("name", ["bad.jsonl.zst", "bad.jsonl.gz", "bad.csv.zst", "bad.json.zst"])
def test_r06_a_compressed_stream_that_is_cut_off_is_refused(folder, name, cut):
    data = {
        "jsonl": ROWS,
        "csv": b"id,passed\n" + b"".join(b"s%d,%s\n" % (n, b"true" if n < 900 else b"false") for n in range(1000)),
        "json": b"[" + b",".join(ROWS.splitlines()) + b"]",
    }[name.split(".")[1]]
    (folder / name).write_bytes(packed(data, name)[:-cut])
    refused(check(folder, "good.jsonl", name), name, "data is cut off")


def test_r06_a_zstd_stream_that_is_cut_at_a_line_is_refused(folder):
    whole = zstd.ZstdCompressor()
    start = whole.compress(GOOD.encode(), whole.FLUSH_BLOCK)
    whole.compress(BAD.encode(), whole.FLUSH_FRAME)
    (folder / "cut.jsonl.zst").write_bytes(start)
    refused(check(folder, "cut.jsonl.zst"), "cut.jsonl.zst", "the zstd data is cut off")


@pytest.mark.parametrize("name", ["bad.json", "bad.json.gz", "bad.json.zst"])
@pytest.mark.parametrize("text", ['[{"id": "a", "passed": true},', '[{"id": "a", "passed": true}, \n\n', "["])
def test_r06_an_array_that_is_cut_off_is_refused(folder, name, text):
    (folder / name).write_bytes(packed(text.encode(), name))
    refused(check(folder, "good.jsonl", name), name)
    refused(check(folder, name), name)


@pytest.mark.parametrize("large", [False, True])
def test_r06_a_large_array_that_is_cut_off_is_refused(folder, large):
    padding = "x" * 450 if large else ""
    rows = ",\n".join(f'{{"id": "s{number}", "passed": true, "output": "{padding}"}}' for number in range(10_000))
    assert (len(rows) > engine.LARGE_BYTES) is large
    (folder / "bad.json").write_text(f"[{rows},\n", encoding="utf-8")
    refused(check(folder, "good.jsonl", "bad.json"), "bad.json", "cut off")


@pytest.mark.slow
@pytest.mark.parametrize("size", [LIMIT + 1, 40 * MIB, 260 * MIB])
@pytest.mark.parametrize("name", ["bad.csv", "bad.csv.gz"])
def test_r07_a_last_csv_row_that_is_too_long_does_not_vanish(folder, name, size):
    whole = packed(b"x" * MIB, name)  # of gzip, so many streams one behind the other
    with (folder / name).open("wb") as stream:
        stream.write(packed(b"id,passed,output\ngood2,true,x\nbad,false,", name))
        for _ in range(size // MIB):
            stream.write(whole)
        stream.write(packed(b"x\n", name))
    refused(check(folder, "good.jsonl", name), name, "16 MiB", line=3, code="file.too-large")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bad.csv", "bad.jsonl", "bad.json", "bad.jsonl.gz"])
def test_r36_the_limit_of_16_mib_holds_from_16_mib_on(folder, name):
    first = GOOD.encode() if name.endswith(".gz") else b""  # whose file it is, is seen in its first row
    for more, exit_ in ((0, 1), (3, 2)):
        around = {
            "csv": (b"id,passed,output\nbad,false,", b"\n"),
            "jsonl": (first + b'{"id": "bad", "passed": false, "output": "', b'"}\n'),
            "json": (b'[{"id": "bad", "passed": false, "output": "', b'"}]'),
        }[name.split(".")[1]]
        length = LIMIT + more - len(around[0].rpartition(b"\n")[2]) - len(around[1])
        (folder / name).write_bytes(packed(around[0] + b"x" * length + around[1], name))
        done = check(folder, name)
        assert done.exit == exit_, done.err
    refused(done, name, "16 MiB", code="file.too-large")


def large_rows(number_of_rows=9_000, **changes):
    """The JSON lines of so many rows, of half a kilobyte each; the one in the middle is changed."""
    row = {"id": "s", "category": "happy_path", "behaviors": ["a"], "passed": True, "error": None, "output": "p" * 500}
    rows = [json.dumps({**row, "id": f"s{number}"}) for number in range(number_of_rows)]
    rows[number_of_rows // 2] = json.dumps({**row, "id": f"s{number_of_rows // 2}", **changes})
    return "".join(line + "\n" for line in rows).encode()


def refused_in_the_middle(folder, rows, column, value):
    late = ["@@"] if column == "behaviors" else "@@"
    data = large_rows(rows, **{column: late}).replace(b'"@@"', value.encode())
    (folder / "bad.jsonl").write_bytes(data)
    refused(check(folder, "bad.jsonl"), "bad.jsonl", line=rows // 2 + 1)


def test_r22_large_files_refuse_what_small_ones_refuse(folder):
    refused_in_the_middle(folder, 9_000, "error", "NaN")


@pytest.mark.parametrize("column", ["id", "error", "behaviors", "output"])
def test_r22_every_word_for_no_number_is_refused_in_every_column(folder, column, monkeypatch):
    for name, size in (("SMALL_BYTES", 10_000), ("LARGE_BYTES", 100_000)):
        monkeypatch.setattr(engine, name, size)  # how a file is read depends on nothing else
    for value in ("NaN", "nAn", "-inf"):
        refused_in_the_middle(folder, 300, column, value)


@pytest.mark.parametrize("value", ["NaN", "inf"])
def test_r22_words_that_look_like_no_number_are_text(folder, value):
    (folder / "good2.jsonl").write_bytes(large_rows(category=value, behaviors=[value]))
    assert judged(check(folder, "good2.jsonl"), "pass")["counts"]["scenarios"] == 9_000


@pytest.mark.parametrize("name", ["bad.jsonl.gz", "bad.csv.gz", "bad.json.gz"])
def test_r23_a_gzip_checksum_that_does_not_match_is_refused(folder, name):
    text = {"jsonl": GOOD, "csv": "id,passed\na,true\n", "json": f"[{GOOD.strip()}]"}[name.split(".")[1]]
    data = bytearray(gzip.compress(text.encode()))
    for place in (-8, -1):  # the checksum, and the length
        data[place] ^= 1
        (folder / name).write_bytes(data)
        refused(check(folder, name), name, "the gzip data is damaged")
        data[place] ^= 1


def test_r23_a_zstd_checksum_that_does_not_match_is_refused(folder):
    data = bytearray(zstd.compress(ROWS, options={zstd.CompressionParameter.checksum_flag: 1}))
    data[-1] ^= 1
    (folder / "bad.jsonl.zst").write_bytes(data)
    refused(check(folder, "bad.jsonl.zst"), "bad.jsonl.zst", "the zstd data is damaged")


@pytest.mark.parametrize("name", ["bad.jsonl.gz", "bad.jsonl.zst", "bad.csv.gz", "bad.csv.zst"])
@pytest.mark.parametrize("junk", [b"junk", b"\0" * 20, BAD.encode()])
def test_r27_what_stands_behind_a_compressed_stream_is_refused(folder, name, junk):
    text = b"id,passed\na,true\n" if "csv" in name else GOOD.encode()
    (folder / name).write_bytes(packed(text, name) + junk)
    refused(check(folder, name), name, "data is")


@pytest.mark.parametrize("name", ["two.jsonl.gz", "two.jsonl.zst", "two.csv.gz", "two.csv.zst"])
def test_r27_two_streams_one_behind_the_other_are_read(folder, name):
    first, second = (b"id,passed\na,true\n", b"b,false\n") if "csv" in name else (GOOD.encode(), BAD.encode())
    (folder / name).write_bytes(packed(first, name) + packed(b"", name) + packed(second, name))
    assert judged(check(folder, name), "fail")["counts"]["scenarios"] == 2


@pytest.mark.parametrize("name", ["bad.csv", "bad.csv.gz", "bad.csv.zst", "bad.jsonl.gz", "bad.json.zst", "bad.json"])
def test_r26_a_file_without_a_row_is_refused(folder, name):
    text = {"csv": b"id,passed\n", "jsonl": b"\n \n", "json": b"[]"}[name.split(".")[1]]
    (folder / name).write_bytes(packed(text, name))
    refused(check(folder, "good.jsonl", name), name, code="results.empty")
    refused(check(folder, name), code="results.empty")


def test_r26_an_empty_parquet_shard_is_refused(folder):
    (folder / "out").mkdir()
    table = pa.table({"id": ["a"], "passed": [True]})
    parquet.write_table(table, folder / "out" / "part-0.parquet")
    assert judged(check(folder, "out"), "pass")
    parquet.write_table(table.slice(0, 0), folder / "out" / "part-1.parquet")
    refused(check(folder, "out"), "part-1.parquet", code="results.empty")


def test_l1_parquet_files_one_behind_the_other_are_refused(folder):
    for name, passed in (("a", True), ("b", False), ("c", True)):
        parquet.write_table(pa.table({"id": [name], "passed": [passed]}), folder / f"{name}.parquet")
    whole = [(folder / f"{name}.parquet").read_bytes() for name in "abc"]
    (folder / "all.parquet").write_bytes(b"".join(whole))
    refused(check(folder, "all.parquet"), "all.parquet", "joined into one", "name each of them")


def test_l1_a_mark_of_parquet_in_the_data_is_data(folder):
    table = pa.table({"id": ["a"], "passed": [True], "output": ["x" * 20 + "PAR1PAR1" * 3]})
    parquet.write_table(table, folder / "r.parquet", compression="none", use_dictionary=False)
    assert judged(check(folder, "r.parquet"), "pass")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"id,passed\r\na,true\nb,false\r\n", 2),
        (b"id,passed\na,true\r\nb,false\n", 2),
        (b"id,passed\na,true\rb,false\n", 2),
        (b'id,passed\n"a\n1",true\r\nb,false\n', 3),
        (b"id,passed\r\na,true\r\nb,false\n", 3),
    ],
)
def test_r32_lines_that_end_in_different_ways_are_named(folder, text, line):
    (folder / "bad.csv").write_bytes(text)
    refused(check(folder, "bad.csv"), "bad.csv", line=line, code="file.not-csv")


MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("filler", [0, 20_000], ids=["small", "large"])
def test_a_byte_order_mark_inside_of_a_file_is_named_with_its_line(tmp_path, filler):
    """As `cat` leaves it between two files that both begin with one."""
    row = b'{"id":"a%d","passed":true,"output":"' + b"x" * 200 + b'"}\n'
    first = b"".join(row % number for number in range(filler + 1))
    (tmp_path / "policy.json").write_text('{"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}', "utf-8")
    (tmp_path / "r.jsonl").write_bytes(first + MARK + b'{"id":"b","passed":false}\n')
    refused(check(tmp_path, "r.jsonl"), "a byte order mark", line=filler + 2)


def test_a_byte_order_mark_inside_of_a_csv_file_is_no_part_of_an_id(tmp_path):
    (tmp_path / "policy.json").write_text('{"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}', "utf-8")
    (tmp_path / "r.csv").write_bytes(b"id,passed\na,true\n" + MARK + b"b,false\n")
    refused(check(tmp_path, "r.csv"), "byte order mark", line=3)
