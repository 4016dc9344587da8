"""Files that are cut, bent, huge or hostile, for tools whose results are JSON: refused with a word, never a crash."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.errors import InputError, Problem
from tests.commandline import run
from tests.importers.imported import FIXTURES, Row, imported, problems_of, refusal, written
from tests.patience import processor_time

RULES = {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}}
FILES = {
    "deepeval": FIXTURES / "deepeval" / "test_run.json",
    "pydantic-evals": FIXTURES / "pydantic_evals" / "once.json",
    "mlflow": FIXTURES / "mlflow" / "eval_results.json",
    "otel": FIXTURES / "otel" / "logs.jsonl",
    "every-eval-ever": FIXTURES / "every_eval_ever" / "00000001-0000-4000-8000-000000000000_samples.jsonl",
}
RUN = {"task_id": 0, "reward": 1.0, "info": {}, "traj": [], "trial": 0}
TOOLS = [*FILES, "tau-bench"]


def content(tool: str) -> bytes:
    """A sound file of the tool."""
    return json.dumps([RUN, {**RUN, "task_id": 1}]).encode() if tool == "tau-bench" else FILES[tool].read_bytes()


def suffix(tool: str) -> str:
    return FILES[tool].suffix if tool in FILES else ".json"


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, tool: str) -> None:
    data = content(tool).rstrip()
    for cut in range(1, len(data) - 1, max(1, len(data) // 40)):
        if suffix(tool) == ".jsonl" and b"\n" in data[cut - 1 : cut + 1]:
            continue
        path = written(tmp_path, f"cut{suffix(tool)}", data[:cut])
        assert refusal(tool, path)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "file.empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "file.git-lfs"),
        ('{"testCases": []}'.encode("utf-16"), "file.not-utf8"),
        (b"\xff\xfe\x00\x00", "file.not-utf8"),
        (b"null", None),
        (b"[1, 2]", None),
        (b'"text"', None),
        (b"not json at all", "file.not-json"),
        (b"[" * 200_000, "file.too-deep"),
        (b'{"a":' * 100_000, "file.too-deep"),
    ],
)
def test_what_is_no_file_of_the_tool_is_refused(tmp_path: Path, tool: str, data: bytes, code: str | None) -> None:
    with processor_time(below=5):
        (problem,) = problems_of(tool, written(tmp_path, f"odd{suffix(tool)}", data))
    assert code is None or problem.code in (code, "file.cut-off", "file.not-json")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, tool: str) -> None:
    data = content(tool)
    key = {"deepeval": b'"success"', "pydantic-evals": b'"value"', "mlflow": b'"feedback"', "otel": b'"eventName"'}
    key["every-eval-ever"] = b'"is_correct"'
    name = key.get(tool, b'"reward"')
    assert name in data
    twice = data.replace(name, name + b": 1, " + name, 1)
    (problem,) = problems_of(tool, written(tmp_path, f"twice{suffix(tool)}", twice))
    assert problem.code == "import.duplicate"
    assert name.decode().replace('"', "'") in problem.message


@pytest.mark.parametrize("tool", TOOLS)
def test_a_byte_order_mark_and_spaces_change_nothing(tmp_path: Path, tool: str) -> None:
    plain = written(tmp_path, f"plain{suffix(tool)}", content(tool))
    marked = written(tmp_path, f"marked{suffix(tool)}", b"\xef\xbb\xbf" + content(tool) + b"\n \n")
    assert imported(tool, marked)[0] == imported(tool, plain)[0]


EMPTY: dict[str, Any] = {
    "deepeval": {"testCases": [], "conversationalTestCases": [], "metricsScores": [], "testPassed": 0},
    "pydantic-evals": {"name": "v1", "cases": [], "failures": []},
    "mlflow": {"columns": ["trace_id", "a/value", "assessments"], "data": []},
}


@pytest.mark.parametrize("tool", EMPTY)
def test_a_run_without_a_result_is_nothing_to_judge(tmp_path: Path, tool: str) -> None:
    path = written(tmp_path, "empty.json", EMPTY[tool])
    assert [problem.code for problem in problems_of(tool, path)] == ["judge.undeclared"]
    with pytest.raises(InputError):
        highbar.check(path, RULES)
    assert run(tmp_path, "check", "empty.json").exit == 2


@pytest.mark.parametrize("tool", TOOLS)
def test_nan_and_infinity_never_become_numbers(tmp_path: Path, tool: str) -> None:
    for word in (b"NaN", b"Infinity", b"-Infinity", b"1e999"):
        data = content(tool)
        for number in (b"1.0", b"0.625", b"0.5"):
            data = data.replace(b": " + number, b": " + word).replace(b":" + number, b":" + word)
        path = written(tmp_path, f"odd{suffix(tool)}", data)
        refused: list[Problem] = []
        rows: list[Row] = []
        try:
            rows, _ = imported(tool, path)
        except InputError as error:
            refused = list(error.problems)
        assert {problem.code for problem in refused} <= {"import.wrong-value"}
        assert all(re.search("found '?(nan|-?inf)", problem.message, re.IGNORECASE) for problem in refused)
        assert "NaN" not in json.dumps([{k: v for k, v in row.items() if k not in ("input", "tags")} for row in rows])


def test_names_with_control_characters_and_hostile_text_stay_text(tmp_path: Path) -> None:
    name = "a\n\x1b[2J::error::x\u202e\ud800"
    case = {"name": name, "input": "x", "success": True, "metricsData": [{"name": "<script>", "success": True}]}
    path = written(tmp_path, "run.json", json.dumps({"testCases": [case]}))
    rows, _ = imported("deepeval", path)
    assert "\n" not in rows[0]["id"]
    assert "\x1b" not in rows[0]["id"]
    done = run(tmp_path, "check", "run.json", "--policy", "typical")
    assert done.exit == 0
    assert "\x1b" not in done.out + done.err


def test_the_same_scenario_in_two_files_is_not_merged(tmp_path: Path) -> None:
    first, second = (written(tmp_path, f"{n}.json", json.dumps([RUN])) for n in "ab")
    assert run(tmp_path, "check", first.name, second.name).exit == 2


@pytest.mark.slow
def test_a_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    """60 MB of trajectories; what is kept of a run is far smaller than the run."""
    import tracemalloc

    filler = "x" * 20_000
    path = tmp_path / "large.json"
    with path.open("w") as stream:
        for number in range(3000):
            traj = [{"role": "assistant", "content": filler}]
            row = json.dumps({**RUN, "task_id": number, "traj": traj})
            stream.write(("[" if number == 0 else ",") + row)
        stream.write("]")
    from highbar import importers
    from highbar.importers.report import Report

    tracemalloc.start()
    count = sum(1 for _ in importers.importer_named("tau-bench")(str(path), Report()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 3000
    assert peak < 30 * 2**20
