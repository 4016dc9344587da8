"""H57 to H70, H111, H112, H119 to H121, H124: other tools' files, odd or made to hurt, through the real command line.

What is wrong with a file of ours is wrong with any other tool's, so most of these run over a file of every tool.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.commandline import Run, run
from tests.importers.bombs import a_gigabyte_of_spaces
from tests.importers.imported import FIXTURES
from tests.patience import processor_time

TAU = [{"task_id": 0, "reward": 1.0, "info": {}, "traj": [], "trial": number} for number in range(3)]
TOOLS: dict[str, tuple[str, str, bytes]] = {
    "inspect": ("log.json", "epoch", (FIXTURES / "inspect" / "as_json.json").read_bytes()),
    "promptfoo": ("results.json", "testIdx", (FIXTURES / "promptfoo" / "results.json").read_bytes()),
    "promptfoo-lines": ("results.jsonl", "testIdx", (FIXTURES / "promptfoo" / "results.jsonl").read_bytes()),
    "deepeval": ("run.json", "metricsData", (FIXTURES / "deepeval" / "test_run.json").read_bytes()),
    "pydantic-evals": ("report.json", "assertions", (FIXTURES / "pydantic_evals" / "once.json").read_bytes()),
    "lm-eval": ("samples.jsonl", "doc_id", next((FIXTURES / "lm_eval").glob("samples_words*")).read_bytes()),
    "every-eval-ever": (
        "e_samples.jsonl",
        "is_correct",
        (FIXTURES / "every_eval_ever" / "00000001-0000-4000-8000-000000000000_samples.jsonl").read_bytes(),
    ),
    "tau-bench": ("runs.json", "reward", json.dumps(TAU).encode()),
    "mlflow": ("table.json", "assessment_name", (FIXTURES / "mlflow" / "eval_results.json").read_bytes()),
    "otel": ("traces.jsonl", "traceId", (FIXTURES / "otel" / "traces.jsonl").read_bytes()),
}
"""The name of a file of each tool, a key of its records, and the file as the tool wrote it."""
ALL = sorted(TOOLS)
MAP = "columns: {id: name, passed: ok}\n"


def refused(folder: Path, name: str, *arguments: str, code: str | None = None) -> Run:
    done = run(folder, "check", name, "--format", "json", *arguments)
    assert done.exit == 2, done.out + done.err
    assert done.json["verdict"] is None
    assert "Traceback" not in done.err
    assert code is None or [problem["code"] for problem in done.json["problems"]] == [code]
    return done


def changed(folder: Path, tool: str, old: str, new: str) -> str:
    """The tool's file, one text in it replaced by another; compact, so that the texts can be known."""
    name, _, data = TOOLS[tool]
    documents = [json.loads(line) for line in data.splitlines()] if name.endswith("l") else [json.loads(data)]
    text = "\n".join(json.dumps(one, separators=(",", ":")) for one in documents)
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), "utf-8")
    return name


@pytest.mark.hazard("H57")
@pytest.mark.parametrize("tool", ALL)
def test_h57_a_file_cut_in_the_middle_of_a_record_is_refused(tmp_path: Path, tool: str) -> None:
    name, key, data = TOOLS[tool]
    (tmp_path / name).write_bytes(data[: data.rindex(f'"{key}"'.encode()) + 3])
    done = refused(tmp_path, name)
    assert "cut off" in done.problems


@pytest.mark.hazard("H57")
@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("inspect/crashes.eval", 0.9, "cut off"),
        ("inspect/crashes.eval", 0.3, "cut off"),
        ("junit/pytest.xml", 0.5, "not sound XML"),
    ],
)
def test_h57_an_archive_or_a_report_that_is_cut_off_is_refused(
    tmp_path: Path, name: str, part: float, told: str
) -> None:
    data = (FIXTURES / name).read_bytes()
    cut = tmp_path / Path(name).name
    cut.write_bytes(data[: int(len(data) * part)])
    assert told in refused(tmp_path, cut.name).problems


@pytest.mark.hazard("H58")
def test_h58_a_file_that_holds_fewer_records_than_its_tool_counted_is_refused(tmp_path: Path) -> None:
    export = json.loads(TOOLS["promptfoo"][2])
    del export["results"]["results"][-1]
    (tmp_path / "results.json").write_text(json.dumps(export), "utf-8")
    found = refused(tmp_path, "results.json", code="import.contradiction").problems
    assert "15 results" in found
    assert "count 16" in found
    log = json.loads(TOOLS["inspect"][2])
    del log["samples"][-1]
    (tmp_path / "log.json").write_text(json.dumps(log), "utf-8")
    assert "1 of 12 " in refused(tmp_path, "log.json", code="import.incomplete").problems


@pytest.mark.hazard("H58")
def test_h58_where_the_format_has_no_end_a_suite_says_what_is_missing(tmp_path: Path) -> None:
    """Lines that were cut at the end of one look like a shorter run; only what was planned can tell."""
    name, _, data = TOOLS["promptfoo-lines"]
    (tmp_path / name).write_bytes(b"".join(data.splitlines(keepends=True)[:-2]))
    ids = ["CORE-001", "CORE-002", "ERR-001", "FREE-001", "SEC-001", "SEC-002", "SEC-003", "two\\nlines, no name"]
    (tmp_path / "suite.json").write_text(json.dumps(ids), "utf-8")
    policy = {"thresholds": {"blocking": {"pass_rate": "1%"}}, "suite": "suite.json"}
    (tmp_path / "policy.json").write_text(json.dumps(policy), "utf-8")
    done = run(tmp_path, "check", name, "--format", "json", "--policy", "policy.json")
    assert done.exit == 1
    assert done.rule("thresholds.blocking.pass_rate")["outcome"] == "pass"
    assert done.rule("suite")["outcome"] == "fail"


@pytest.mark.hazard("H59")
@pytest.mark.parametrize("tool", ALL)
def test_h59_a_key_that_stands_twice_in_a_record_is_refused(tmp_path: Path, tool: str) -> None:
    key = TOOLS[tool][1]
    name = changed(tmp_path, tool, f'"{key}":', f'"zz":1,"zz":2,"{key}":')
    assert "duplicate key 'zz'" in refused(tmp_path, name).problems


@pytest.mark.hazard("H60")
def test_h60_a_score_of_nan_is_no_score_and_passes_nothing(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text('{"thresholds": {"blocking": {"accuracy": "50%"}}}', "utf-8")
    (tmp_path / "log.json").write_bytes(TOOLS["inspect"][2])
    assert run(tmp_path, "check", "log.json", "--policy", "policy.json").exit == 0
    name = changed(tmp_path, "inspect", '"scores":{"graded":{"value":"C"', '"scores":{"graded":{"value":NaN')
    done = run(tmp_path, "check", name, "--policy", "policy.json")
    assert done.exit == 3  # nobody judged it: 5 of 12 are known to be right, and 7 might be
    assert "2 unscored" in done.err


@pytest.mark.hazard("H61")
@pytest.mark.parametrize("tool", ALL)
@pytest.mark.parametrize("rest", [b" xyz", b'{"a":1}'])
def test_h61_text_behind_the_last_value_is_refused(tmp_path: Path, tool: str, rest: bytes) -> None:
    name, _, data = TOOLS[tool]
    (tmp_path / name).write_bytes(data.rstrip() + rest)
    assert refused(tmp_path, name).problems


@pytest.mark.hazard("H62")
@pytest.mark.parametrize("tool", ALL)
def test_h62_other_encodings_are_refused_with_a_word_about_utf_8(tmp_path: Path, tool: str) -> None:
    name, key, data = TOOLS[tool]
    format_ = ("--input-format", tool.removesuffix("-lines"))
    (tmp_path / name).write_text(data.decode(), "utf-16")
    assert "save it as UTF-8" in refused(tmp_path, name, *format_).problems
    at = data.rindex(f'"{key}"'.encode()) + 1
    (tmp_path / name).write_bytes(data[:at] + b"\xff" + data[at:])
    assert "not UTF-8" in refused(tmp_path, name, *format_).problems


@pytest.mark.hazard("H62")
def test_h62_half_of_a_character_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    """JavaScript writes the first where it cut a text; the second is what some editors add."""
    name = changed(tmp_path, "promptfoo", '"HELLO WORLD"', '"HELLO \\ud83d"')
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + (tmp_path / name).read_bytes())
    arguments = ("--format", "json", "--input-format", "promptfoo", "--policy", "typical")
    done = run(tmp_path, "check", name, *arguments)
    assert done.exit == 1
    assert done.json["counts"]["trials"] == 16


@pytest.mark.hazard("H63")
@pytest.mark.parametrize("tool", ALL)
def test_h63_deep_nesting_is_refused(tmp_path: Path, tool: str) -> None:
    key = TOOLS[tool][1]
    name = changed(tmp_path, tool, f'"{key}":', f'"zz":{"[" * 100_000}{"]" * 100_000},"{key}":')
    assert "nested too deep" in refused(tmp_path, name, "--input-format", tool.removesuffix("-lines")).problems


@pytest.mark.process
@pytest.mark.hazard("H64")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["samples.jsonl", "results.json"])
def test_h64_a_line_or_a_value_without_end_is_refused_in_bounded_memory(tmp_path: Path, name: str) -> None:
    start = {
        "samples.jsonl": b'{"doc_id": 1, "doc": "',
        "results.json": b'{"results": {"version": 3, "results": [{"a": "',
    }
    with (tmp_path / name).open("wb") as stream:
        stream.write(start[name])
        for _ in range(257):
            stream.write(b"a" * 1024 * 1024)
    tool = "lm-eval" if name.endswith("l") else "promptfoo"
    command = [sys.executable, "-m", "highbar", "import", tool, name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=_two_gibibytes)
    assert done.returncode == 2
    assert "256 MiB" in done.stderr


def _two_gibibytes() -> None:
    """Address space, which is always more than what is really held."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * 1024**3, 2 * 1024**3))


@pytest.mark.hazard("H67")
def test_h67_a_score_whose_name_looks_like_a_column_is_none(tmp_path: Path) -> None:
    log = TOOLS["inspect"][2].replace(b'"stars"', b'"pased"')
    (tmp_path / "log.json").write_bytes(log)
    done = run(tmp_path, "import", "inspect", "log.json")
    assert done.exit == 0
    assert all("pased" not in json.loads(line) for line in done.out.splitlines())
    assert "score_pased" in done.out


@pytest.mark.hazard("H68")
@pytest.mark.parametrize(
    ("tool", "old", "new", "told"),
    [
        ("promptfoo-lines", '"success":true', '"success":"yes"', "success: found 'yes'"),
        ("deepeval", '"success":true', '"success":1', "success: found 1,"),
        ("tau-bench", '"reward":1.0', '"reward":"1"', "reward: found '1'"),
        ("inspect", '"total_time":', '"total_time":"soon","z":', "total_time: found 'soon'"),
    ],
)
def test_h68_a_value_of_another_type_is_refused_with_its_place(
    tmp_path: Path, tool: str, old: str, new: str, told: str
) -> None:
    done = refused(tmp_path, changed(tmp_path, tool, old, new), code="import.wrong-value")
    assert told in done.problems


@pytest.mark.hazard("H69")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,ok\n,true\n", "id"),
        ("name,ok\na,maybe\n", "found 'maybe'"),
        ('name,ok\na,true\n"b,true\n', "not sound CSV"),
        ("name,ok\na,true,7\n", "found 3 cells"),
    ],
)
def test_h69_a_table_read_by_a_mapping_is_read_strictly(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "results.csv").write_text(text, "utf-8")
    (tmp_path / "map.yaml").write_text(MAP, "utf-8")
    assert told in refused(tmp_path, "results.csv", "--map", "map.yaml").problems


@pytest.mark.hazard("H70")
@pytest.mark.parametrize(
    ("tool", "old", "new"),
    [
        ("inspect", '"samples":[{"id":"Q-01"', '"samples":[{"id":""'),
        ("inspect", '"samples":[{"id":"Q-01"', '"samples":[{"id":null'),
        ("deepeval", '"name":"refund"', '"name":""'),
        ("tau-bench", '"task_id":0', '"task_id":null'),
        ("lm-eval", '"doc_id":0', '"doc_id":null'),
    ],
)
def test_h70_a_record_without_a_name_is_refused(tmp_path: Path, tool: str, old: str, new: str) -> None:
    assert refused(tmp_path, changed(tmp_path, tool, old, new)).problems


@pytest.mark.hazard("H111")
def test_h111_a_report_with_characters_that_xml_forbids_is_refused_not_read_as_empty(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_bytes(b"<testsuite name='s'><testcase name='a\x00b\x08'/></testsuite>")
    assert "not sound XML" in refused(tmp_path, "report.xml").problems


@pytest.mark.hazard("H119")
@pytest.mark.parametrize("tool", ["inspect", "promptfoo", "junit", "map"])
def test_h119_a_pickle_is_read_by_no_reader_whatever_it_is_called(tmp_path: Path, tool: str) -> None:
    """The first bytes of a pickle that would make a folder if it were loaded."""
    (tmp_path / "results.json").write_bytes(b"\x80\x04cos\nmkdir\n(S'evil'\ntR.")
    (tmp_path / "map.yaml").write_text(MAP, "utf-8")
    done = run(tmp_path, "import", tool, "results.json", *(("--map", "map.yaml") if tool == "map" else ()))
    assert done.exit == 2
    assert not (tmp_path / "evil").exists()


@pytest.mark.hazard("H120")
@pytest.mark.parametrize(
    "text",
    [
        "rows: !!python/object/apply:os.mkdir ['evil']\n",
        "a: &a [x, x]\nb: &b [*a, *a]\ncolumns: { id: *b }\n",
    ],
)
def test_h120_a_mapping_runs_nothing_and_has_no_aliases(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text('[{"name": "a", "ok": true}]', "utf-8")
    (tmp_path / "map.yaml").write_text(text, "utf-8")
    assert refused(tmp_path, "results.json", "--map", "map.yaml").problems
    assert not (tmp_path / "evil").exists()


@pytest.mark.hazard("H124")
@pytest.mark.parametrize("start", [b"\x00" * 8 + b"DUCK" + b"\x00" * 100, b"SQLite format 3\x00"])
@pytest.mark.parametrize("tool", ["inspect", "otel", "junit"])
def test_h124_a_database_is_read_by_no_reader(tmp_path: Path, start: bytes, tool: str) -> None:
    (tmp_path / "results.db").write_bytes(start)
    assert run(tmp_path, "import", tool, "results.db").exit == 2
    assert "not supported" in refused(tmp_path, "results.db").problems


@pytest.mark.hazard("H112")
@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><testsuite name='s'><testcase name='&x;'/></testsuite>",
        "<!DOCTYPE r [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;&a;'>]><testsuite><testcase name='&b;'/></testsuite>",
        "<!DOCTYPE testsuite SYSTEM 'http://127.0.0.1:9/x.dtd'><testsuite><testcase name='a'/></testsuite>",
    ],
)
def test_h112_a_document_type_is_refused_and_no_file_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.xml").write_text(text, "utf-8")
    done = refused(tmp_path, "report.xml", code="file.not-allowed")
    assert "root:" not in done.out + done.err


@pytest.mark.hazard("H121")
def test_h121_a_gigabyte_of_spaces_is_refused_at_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(a_gigabyte_of_spaces(tmp_path / "log.eval"), "a") as archive:
        archive.writestr("../../evil.txt", "evil")
    with processor_time(below=20):
        done = refused(tmp_path, "log.eval", code="file.not-allowed")
    assert "1,073,741,824 bytes" in done.problems


@pytest.mark.hazard("H121")
@pytest.mark.parametrize("name", ["../../evil.txt", "/evil.txt", "..\\..\\evil.txt"])
def test_h121_a_name_that_leads_out_of_the_archive_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    with zipfile.ZipFile(inner / "log.eval", "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr(name, "evil")
    done = refused(inner, "log.eval", code="file.not-allowed")
    assert repr(name) in done.problems
    assert not list(tmp_path.rglob("evil*"))
