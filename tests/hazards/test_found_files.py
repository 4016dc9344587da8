"""Files and folders that were misread, or read without a word: found by attacking the gate, each stays found."""

from __future__ import annotations

import gzip
import json
import sys

import pytest

import highbar
from tests.commandline import run
from tests.hazards.test_found import ALL, refused, write

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def read_from_stdin(folder, data, *arguments):
    (folder / "policy.json").write_text(json.dumps(ALL), encoding="utf-8")
    return run(folder, "check", "-", "--policy", "policy.json", "--format", "json", *arguments, stdin=data)


@pytest.mark.parametrize("packed", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "a", "passed": true},\n {"id": "b", "passed": false}]',
        "id,passed\na,true\nb,false\n",
        '{"id": "a", "passed": true}\n{"id": "b", "passed": false}\n',
    ],
    ids=["array", "csv", "lines"],
)
def test_compressed_standard_input_is_read_in_every_form(tmp_path, text, packed):
    done = read_from_stdin(tmp_path, packed(text.encode()))
    assert done.exit == 1, done.err
    assert (done.json["counts"]["scenarios"], done.json["metrics"]["pass_rate"]["value"]) == (2, 0.5)


def test_compressed_standard_input_that_is_cut_off_is_refused(tmp_path):
    rows = "".join(f'{{"id": "a{number}", "passed": true}}\n' for number in range(9_000))
    assert read_from_stdin(tmp_path, gzip.compress(rows.encode())[:-900]).exit == 2


def test_files_of_a_folder_that_are_not_read_are_told(tmp_path):
    write(tmp_path / "out" / "a.jsonl", [{"id": "a", "passed": True}])
    for name in ("notes.txt", "results.xlsx", "report.xml", ".hidden.jsonl", "_partial/b.jsonl"):
        (tmp_path / "out" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_text("x", encoding="utf-8")
    warnings = highbar.check(tmp_path / "out", ALL).warnings
    assert (
        f"{tmp_path / 'out'}: 4 files were not read: _partial/b.jsonl, notes.txt, report.xml, results.xlsx" in warnings
    )


def test_a_folder_that_is_read_whole_says_nothing(tmp_path):
    write(tmp_path / "out" / "a.jsonl", [{"id": "a", "passed": True}])
    assert not [note for note in highbar.check(tmp_path / "out", ALL).warnings if "not read" in note]


def test_blank_lines_between_results_are_skipped(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"id": "a", "passed": true}\n\n  \n{"id": "b", "passed": true}\n\n', encoding="utf-8")
    assert highbar.check(path, ALL).counts.scenarios == 2
    path.write_text('{"id": "a", "passed": true}\n\n{"id": "b", "passed": 1}\n', encoding="utf-8")
    (problem,) = refused(path)
    assert (problem.line, problem.code) == (3, "row.wrong-type")
    assert problem.message.startswith("passed: found 1,")


def test_a_column_that_nobody_reads_may_be_nested_as_it_likes(tmp_path):
    path = tmp_path / "a.jsonl"
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text(f'{{"id": "a", "passed": false, "trace": {deep}}}\n', encoding="utf-8")
    assert highbar.check(path, ALL).verdict == "fail"
    with pytest.raises(highbar.InputError, match="nested deeper than 64"):
        highbar.check(path, {**ALL, "slices": ["trace"]})


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        (
            "a.jsonl",
            '{"id": "a", "passed": true}\n\n{"id": "b", "passed": true}\n{"id": "a", "passed": true}\n',
            (1, 4),
        ),
        ("a.json", '[{"id": "a", "passed": true},\n{"id": "b"},\n\n{"id": "a"}]', (1, 4)),
        ("a.csv", 'id,error\na,\n"b","two\nlines"\na,\n', (2, 5)),
    ],
)
def test_results_that_stand_twice_are_named_with_their_lines(tmp_path, name, content, lines):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    (problem,) = refused(path)
    assert (
        problem.message == f"scenario 'a' has 2 results and no trial tells them apart: lines {lines[0]} and {lines[1]}"
    )
    assert (problem.file, problem.line) == (str(path), lines[1])


def test_results_that_stand_in_two_files_are_named_with_both(tmp_path):
    first = write(tmp_path / "a.jsonl", [{"id": "a", "trial": 1, "passed": True}])
    second = write(tmp_path / "b.jsonl", [{"id": "b", "passed": True}, {"id": "a", "trial": 1, "passed": True}])
    (problem,) = refused([first, second])
    assert problem.message == f"scenario 'a' has 2 results for trial 1: {first}:1 and {second}:2"
    assert (problem.file, problem.line) == (str(second), 2)


def test_many_results_that_stand_twice_are_named_by_the_first_few(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"id": "a", "passed": True}] * 9)
    assert refused(path)[0].message.endswith("lines 1, 2, 3, 4, 5 and 4 more")
