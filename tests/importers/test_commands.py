"""Another tool's files through the real command line: check, import, formats by name, standard input, outsiders."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.commandline import run
from tests.importers.imported import FIXTURES, imported, written

LOG = FIXTURES / "inspect" / "crashes.eval"
EXPORT = FIXTURES / "promptfoo" / "results.json"
REPORT = FIXTURES / "junit" / "pytest.xml"
POLICY = "thresholds:\n  blocking: { accuracy: %s }\n"


def judged(folder: Path, accuracy: str, *arguments: object):
    (folder / "highbar.yaml").write_text(POLICY % accuracy, "utf-8")
    return run(folder, "check", *map(str, arguments), "--policy", "highbar.yaml")


@pytest.mark.parametrize(("accuracy", "code"), [("50%", 0), ("51%", 3), ("59%", 1)])
def test_a_log_goes_straight_into_a_check(tmp_path, accuracy, code):
    done = judged(tmp_path, accuracy, LOG)
    assert done.exit == code
    assert "read as Inspect AI log: 12 records, 12 rows, 2 errors, 1 unscored" in done.err


def test_the_verdict_names_the_log_and_its_digest(tmp_path):
    done = judged(tmp_path, "50%", LOG, "--format", "json")
    digest = hashlib.sha256(LOG.read_bytes()).hexdigest()
    assert done.json["results"] == [{"file": str(LOG), "sha256": digest}]


def test_several_logs_globs_and_folders_are_read_together(tmp_path):
    for name in ("crashes.eval", "epochs.eval", "labels.eval"):
        (tmp_path / name).write_bytes((FIXTURES / "inspect" / name).read_bytes())
    for arguments in ([tmp_path / "*.eval"], [tmp_path]):
        (tmp_path / "highbar.yaml").unlink(missing_ok=True)
        folder = tmp_path / "elsewhere"
        folder.mkdir(exist_ok=True)
        done = judged(folder, "50%", *arguments, "--format", "json")
        assert done.json["counts"]["scenarios"] == 12 + 4 + 4


def test_rows_of_ours_and_logs_are_judged_together(tmp_path):
    rows = written(tmp_path, "rows.jsonl", '{"id": "mine", "correct": true}\n')
    done = judged(tmp_path, "50%", LOG, rows, "--format", "json")
    assert done.json["counts"]["scenarios"] == 13


def test_warnings_of_an_import_are_in_the_verdict(tmp_path):
    document = json.loads((FIXTURES / "inspect" / "as_json.json").read_text("utf-8"))
    document["version"] = 3
    done = judged(tmp_path, "50%", written(tmp_path, "newer.json", document), "--format", "json")
    assert any("version 3 of the log format" in warning for warning in done.json["warnings"])
    assert done.exit == 0


def test_the_same_log_twice_counts_once_or_not_at_all(tmp_path):
    assert judged(tmp_path, "50%", LOG, LOG).codes == ["file.twice"]
    (tmp_path / "copy.eval").write_bytes(LOG.read_bytes())
    done = judged(tmp_path, "50%", LOG, "copy.eval")
    assert done.exit == 2
    assert done.codes == ["results.duplicate-trial"] * 12
    assert "copy.eval:1\n" in done.err


def test_a_refused_log_is_named_and_leaves_with_2(tmp_path):
    done = judged(tmp_path, "50%", FIXTURES / "inspect" / "halted.eval")
    assert done.exit == 2
    assert done.codes == ["import.incomplete"]
    assert "halted.eval: 6 of 12 " in done.err
    done = judged(tmp_path, "50%", FIXTURES / "inspect" / "halted.eval", "--format", "json")
    assert done.json["verdict"] is None


def test_a_row_that_the_engine_refuses_is_named_by_its_number_not_by_a_line(tmp_path):
    text = (
        EXPORT.read_text("utf-8").replace('"locale": "de"', '"locale": "de"').replace('"latencyMs": ', '"latencyMs": -')
    )
    done = judged(tmp_path, "1%", written(tmp_path, "r.json", text))
    assert done.exit == 2
    assert set(done.codes) == {"row.wrong-value"}
    assert "r.json: row 1: latency_ms: " in done.err
    assert "`highbar import`" in done.err


def test_the_format_can_be_named_where_the_file_does_not_show_it(tmp_path):
    for path, tool in ((EXPORT, "promptfoo"), (REPORT, "junit"), (LOG, "inspect")):
        plain = written(tmp_path, "results.txt", path.read_bytes())
        assert judged(tmp_path, "1%", plain).exit == 2
        assert judged(tmp_path, "1%", plain, "--input-format", tool, "--format", "json").json["counts"]["trials"] > 10


def test_standard_input_is_read_as_the_format_that_is_named(tmp_path):
    (tmp_path / "highbar.yaml").write_text(POLICY % "50%")
    done = run(tmp_path, "check", "-", "--input-format", "inspect", "--format", "json", stdin=LOG.read_bytes())
    assert done.json["counts"]["scenarios"] == 12
    assert done.json["results"][0]["file"] == "<stdin>"


def test_an_unknown_format_is_refused_with_those_that_are_known(tmp_path):
    done = run(tmp_path, "check", str(LOG), "--input-format", "inspekt")
    assert done.exit == 2
    assert done.codes == ["option.bad-value"]
    assert "jsonl, json, csv, parquet, inspect, promptfoo" in done.err


@pytest.mark.parametrize(("tool", "path"), [("inspect", LOG), ("promptfoo", EXPORT), ("junit", REPORT)])
def test_imported_rows_are_judged_as_the_file_itself_is(tmp_path, tool, path):
    theirs = judged(tmp_path, "1%", path, "--format", "json").json
    for name in ("rows.jsonl", "rows.parquet"):
        done = run(tmp_path, "import", tool, str(path), "-o", name)
        assert (done.exit, done.out) == (0, "")
        ours = judged(tmp_path, "1%", name, "--format", "json").json
        assert ours["metrics"] == theirs["metrics"], name
        assert ours["counts"] == theirs["counts"], name


def test_import_prints_rows_and_says_on_standard_error_what_became_of_the_records(tmp_path):
    done = run(tmp_path, "import", "inspect", str(LOG))
    assert [json.loads(line) for line in done.out.splitlines()] == imported("inspect", LOG)[0]
    assert "12 records, 12 rows, 2 errors, 1 unscored" in done.err
    assert "columns: id (12), trial (12)" in done.err
    assert "no column for: metadata that is long or nested (12)" in done.err


def test_import_joins_several_files(tmp_path):
    done = run(tmp_path, "import", "inspect", str(LOG), str(FIXTURES / "inspect" / "epochs.eval"), "-o", "all.jsonl")
    assert done.exit == 0
    assert len((tmp_path / "all.jsonl").read_text("utf-8").splitlines()) == 24


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("import", "inspect", "no.eval"), "file.missing", "no.eval"),
        (("import", "nothing", "no.eval"), "option.bad-value", "'nothing'"),
        (("import", "inspect", str(LOG), "-o", "rows.txt"), "output.unknown-ending", "rows.txt"),
        (("import", "inspect", "same.jsonl", "-o", "same.jsonl"), "file.read-and-written", "same.jsonl"),
        (("import", "junit", str(LOG)), "file.not-xml", f"{LOG}:1"),
    ],
)
def test_an_import_that_cannot_be_is_refused(tmp_path, arguments, code, named):
    done = run(tmp_path, *arguments)
    assert done.exit == 2
    assert done.codes == [code]
    assert named in done.err
    assert [path.name for path in tmp_path.iterdir()] == [".git"]


def test_an_output_that_cannot_be_written_is_no_success(tmp_path):
    done = run(tmp_path, "import", "inspect", str(LOG), "-o", "no/such/folder/rows.jsonl")
    assert done.exit == 4


def test_nothing_is_left_behind(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    place = {"TMPDIR": str(temporary)}
    (tmp_path / "highbar.yaml").write_text(POLICY % "50%")
    run(tmp_path, "check", str(LOG), environment=place)
    run(tmp_path, "import", "inspect", str(LOG), environment=place)
    run(tmp_path, "check", str(FIXTURES / "inspect" / "halted.eval"), environment=place)
    assert list(temporary.iterdir()) == []


@pytest.mark.hazard("H119")
def test_pickles_are_not_read(tmp_path):
    for name in ("results.pkl", "results.joblib", "results.pt"):
        done = judged(tmp_path, "1%", written(tmp_path, name, b"\x80\x04."))
        assert done.exit == 2
        assert done.codes == ["file.unknown-format"]


def test_terminal_escapes_of_a_log_reach_no_terminal(tmp_path):
    document = json.loads((FIXTURES / "inspect" / "as_json.json").read_text("utf-8"))
    document["samples"][0]["id"] = "Q-01\x1b[31m\u202e"
    document["eval"]["dataset"]["sample_ids"][0] = "Q-01\x1b[31m\u202e"
    document["samples"][0]["output"]["completion"] = "\x1b]0;owned\x07\x9b31m\u202e"
    done = run(tmp_path, "import", "inspect", str(written(tmp_path, "odd.json", document)))
    assert done.exit == 0
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(done.out + done.err)


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_kibibytes(*arguments):
    """The most memory that one command held. A small process starts it: one that is started by a large one inherits
    its peak, and of all children of a process only the largest is known."""
    done = subprocess.run([sys.executable, "-c", PEAK, *arguments], check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is counted in other units")
def test_a_large_log_is_read_in_little_memory(tmp_path):
    sample = {"epoch": 1, "input": "?", "target": "a", "scores": {"match": {"value": "C"}}}
    filler = "The quick brown fox jumps over the lazy dog. " * 20_000
    scorers = [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]}]
    spec = {"task": "t", "dataset": {"sample_ids": [str(n) for n in range(200)]}, "config": {}, "scorers": scorers}
    path = tmp_path / "large.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(200):
            text = json.dumps({**sample, "id": str(number), "messages": [filler]})
            archive.writestr(f"samples/{number}_epoch_1.json", text)
        archive.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": spec}))
    command = [sys.executable, "-m", "highbar", "import", "inspect", str(path), "-o", str(tmp_path / "rows.jsonl")]
    assert peak_kibibytes(*command) < 100_000
    assert len((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()) == 200
