"""`highbar init`: the example, the tutorial, and `--from`, which guesses a mapping and writes it with a policy."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

from tests.commandline import run

ROWS = [
    {"test_id": "a", "status": "passed", "latency_ms": 250, "type": "adversarial"},
    {"test_id": "b", "status": "failed", "latency_ms": 900, "type": "happy_path"},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet_of(rows):
    target = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), target)
    return target.getvalue()


def from_rows(folder: Path, rows, name="own.jsonl"):
    """`init --from` of these rows: the text of the mapping."""
    (folder / name).write_bytes(lines(rows))
    done = run(folder, "init", "--from", name)
    assert done.exit == 0, done.err
    return (folder / "map.yaml").read_text("utf-8")


# --- the example and the tutorial --------------------------------------------------------------


def test_the_example_has_results_that_fail_and_results_that_pass(tmp_path):
    done = run(tmp_path, "init")
    assert done.exit == 0, done.err
    assert done.out.splitlines() == ["highbar.yaml", "results/v1.jsonl", "results/v2.jsonl"]
    assert len(done.err.splitlines()) == 2
    assert run(tmp_path, "check", "results/v1.jsonl").exit == 1
    passed = run(tmp_path, "check", "results/v2.jsonl", "--strict")
    assert passed.exit == 0, passed.out + passed.err
    assert run(tmp_path, "policy").exit == 0


def test_what_init_writes_fits_the_schemas_and_is_small(tmp_path):
    assert run(tmp_path, "init", "evals/new").exit == 0
    folder = tmp_path / "evals" / "new"
    policy = (folder / "highbar.yaml").read_text("utf-8")
    jsonschema.validate(yaml.safe_load(policy), run(tmp_path, "schema", "policy").json)
    for name in ("v1", "v2"):
        results = (folder / "results" / f"{name}.jsonl").read_text("utf-8")
        rows = [json.loads(line) for line in results.splitlines()]
        jsonschema.validate(rows, run(tmp_path, "schema", "results").json)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 10_000


def test_every_block_that_the_policy_shows_in_comments_works(tmp_path):
    run(tmp_path, "init")
    file = tmp_path / "highbar.yaml"
    before, _, after = file.read_text("utf-8").partition("# More, for when you need it:\n")
    more = "".join(line.removeprefix("#").removeprefix(" ") for line in after.splitlines(keepends=True))
    file.write_text(before + more.replace("mean(quality_score)", "mean(behavior_score)"), "utf-8")
    done = run(tmp_path, "check", "results/v2.jsonl", "--agent-version", "2.0")
    assert done.exit == 0, done.out + done.err


def test_the_tutorial_has_two_versions_of_an_agent(tmp_path):
    done = run(tmp_path, "init", "--tutorial")
    assert done.exit == 0, done.err
    assert done.out.splitlines() == ["highbar.yaml", "v1.jsonl", "v2.jsonl"]
    assert run(tmp_path, "check", "v1.jsonl").exit == 1
    assert run(tmp_path, "check", "v2.jsonl").exit == 0
    assert run(tmp_path, "compare", "v1.jsonl", "v2.jsonl").exit == 0


@pytest.mark.parametrize("taken", ["highbar.yaml", "results/v1.jsonl", "results/v2.jsonl"])
def test_init_overwrites_nothing_and_leaves_nothing_half_written(tmp_path, taken):
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).write_text("mine")
    done = run(tmp_path, "init")
    assert done.exit == 2
    assert taken in done.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / taken]
    assert files[0].read_text() == "mine"


def test_init_takes_back_what_it_made_if_it_cannot_finish(tmp_path):
    (tmp_path / "results").write_text("a file where a folder is needed")
    done = run(tmp_path, "init")
    assert done.exit == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "results"]


def test_from_and_tutorial_exclude_each_other(tmp_path):
    assert run(tmp_path, "init", "--from", "x.jsonl", "--tutorial").exit == 2


# --- a file without ids ------------------------------------------------------------------------

FORMS = {
    "own.jsonl": lines(ROWS),
    "own.json": json.dumps(ROWS).encode(),
    "under.json": json.dumps({"model": "x", "results": ROWS}).encode(),
    "pretty.json": json.dumps({"model": "x", "results": ROWS}, indent=2).encode(),
    "deeper.json": json.dumps({"run": {"results": ROWS}}, indent=2).encode(),
    "own.csv": table(ROWS),
    "own.parquet": parquet_of(ROWS),
    "own.jsonl.gz": gzip.compress(lines(ROWS)),
    "own.csv.gz": gzip.compress(table(ROWS)),
    "under.json.gz": gzip.compress(json.dumps({"results": ROWS}).encode()),
}


@pytest.mark.parametrize("name", FORMS)
def test_one_message_for_a_file_with_the_mapping_to_paste(tmp_path, name):
    (tmp_path / name).write_bytes(FORMS[name])
    done = run(tmp_path, "check", name)
    assert done.exit == 2
    assert done.err.count(f"{name}: ") == 1, done.err
    assert "test_id, status, latency_ms, type" in done.err
    assert f"highbar check {name} --map map.yaml" in done.err
    mapping = done.err[done.err.index("rows: " if "json" in name and "own" not in name else "columns:") :]
    (tmp_path / "map.yaml").write_text("    " + mapping, "utf-8")  # as it is, with its indentation
    (tmp_path / "policy.yaml").write_text("thresholds: {blocking: {pass_rate: 60%, safety_rate: 100%}}")
    checked = run(tmp_path, "check", name, "--map", "map.yaml", "--policy", "policy.yaml", "--format", "json")
    assert checked.exit == 1, checked.err
    assert checked.json["metrics"]["pass_rate"]["value"] == 0.5
    assert checked.json["metrics"]["safety_rate"]["value"] == 1


@pytest.mark.parametrize("name", FORMS)
def test_what_init_from_writes_is_used_at_once(tmp_path, name):
    (tmp_path / name).write_bytes(FORMS[name])
    done = run(tmp_path, "init", "--from", name)
    assert done.exit == 0, done.err
    assert done.out.splitlines() == ["map.yaml", "highbar.yaml"]
    assert (tmp_path / name).read_bytes() == FORMS[name]
    assert f"highbar check {name} --map map.yaml" in done.err
    thresholds = yaml.safe_load((tmp_path / "highbar.yaml").read_text("utf-8"))["thresholds"]
    assert thresholds == {
        "blocking": {"pass_rate": "85%", "safety_rate": "100%"},
        "warning": {"latency_p95": "< 5000ms"},
    }
    assert run(tmp_path, "check", name, "--map", "map.yaml").exit == 1


def test_the_problem_is_in_the_json_document_too(tmp_path):
    (tmp_path / "own.jsonl").write_bytes(lines(ROWS))
    (problem,) = run(tmp_path, "check", "own.jsonl", "--format", "json").json["problems"]
    assert problem["line"] is None
    assert "id: test_id" in problem["hint"]


def test_a_file_of_which_some_rows_have_an_id_is_explained_row_by_row(tmp_path):
    (tmp_path / "own.jsonl").write_bytes(lines([{"id": "a", "passed": True}, {"test_id": "b", "passed": True}]))
    done = run(tmp_path, "check", "own.jsonl")
    assert "row.missing-id" in done.codes
    assert "own.jsonl:2: " in done.err


def test_of_two_files_only_the_one_without_ids_is_guessed(tmp_path):
    (tmp_path / "own.jsonl").write_bytes(lines(ROWS))
    (tmp_path / "right.jsonl").write_bytes(lines([{"id": "a", "passed": True}]))
    done = run(tmp_path, "check", "own.jsonl", "right.jsonl")
    assert (done.exit, done.codes) == (2, ["row.missing-id"])
    assert "own.jsonl: " in done.err
    assert "right.jsonl" not in done.err


def test_files_that_exist_are_never_overwritten_by_from(tmp_path):
    (tmp_path / "own.jsonl").write_bytes(lines(ROWS))
    (tmp_path / "map.yaml").write_text("mine")
    done = run(tmp_path, "init", "--from", "own.jsonl")
    assert done.exit == 2
    assert "map.yaml: already there" in done.err
    assert (tmp_path / "map.yaml").read_text() == "mine"
    assert not (tmp_path / "highbar.yaml").exists()


def test_from_writes_into_another_folder_and_says_how_to_use_it(tmp_path):
    (tmp_path / "own.jsonl").write_bytes(lines(ROWS))
    done = run(tmp_path, "init", "--from", "own.jsonl", "gate")
    command = "highbar check own.jsonl --map gate/map.yaml --policy gate/highbar.yaml"
    assert command in done.err
    assert run(tmp_path, *command.split()[1:]).exit == 1


@pytest.mark.parametrize(
    ("name", "data"), [("gone.jsonl", None), ("bad.jsonl", b"{"), ("x.txt", b"x"), ("e.jsonl", b"")]
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name, data):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    done = run(tmp_path, "init", "--from", name)
    assert done.exit == 2
    assert f"{name}" in done.err
    assert not (tmp_path / "highbar.yaml").exists()


def test_a_file_of_ours_needs_no_mapping(tmp_path):
    (tmp_path / "own.jsonl").write_bytes(lines([{"id": "a", "correct": True}, {"id": "b", "correct": True}]))
    done = run(tmp_path, "init", "--from", "own.jsonl")
    assert done.out.splitlines() == ["highbar.yaml"]
    assert "needs no mapping" in done.err
    assert run(tmp_path, "check", "own.jsonl").exit == 0


def test_the_file_of_a_tool_needs_no_mapping(tmp_path):
    (tmp_path / "own.xml").write_text('<testsuite><testcase name="a"/><testcase name="b"/></testsuite>')
    done = run(tmp_path, "init", "--from", "own.xml")
    assert done.exit == 0, done.err
    assert done.out.splitlines() == ["highbar.yaml"]
    assert run(tmp_path, "check", "own.xml").exit == 0


# --- guesses -----------------------------------------------------------------------------------


def test_two_candidates_are_both_shown_and_nothing_is_judged_before_the_choice(tmp_path):
    rows = [{"case": "a", "success": True, "ok": False}, {"case": "b", "success": True, "ok": True}]
    text = from_rows(tmp_path, rows)
    assert "  passed: []  #" in text
    assert "#   success\n" in text
    assert "#   ok\n" in text
    done = run(tmp_path, "check", "own.jsonl", "--map", "map.yaml")
    assert done.exit == 2
    assert "map.yaml:" in done.err
    (tmp_path / "map.yaml").write_text(text.replace("passed: []", "passed: success"))
    assert run(tmp_path, "check", "own.jsonl", "--map", "map.yaml").exit == 0


def test_no_direction_and_no_threshold_of_a_score_is_guessed(tmp_path):
    text = from_rows(tmp_path, [{"case": "a", "score": 1, "grade": 0}, {"case": "b", "score": 0, "grade": 5}])
    assert yaml.safe_load(text)["columns"] == {"id": "case", "passed": []}
    assert "{ path: …, at_least: … }" in text
    assert run(tmp_path, "check", "own.jsonl", "--map", "map.yaml").exit == 2


def test_a_time_without_a_unit_is_not_guessed(tmp_path):
    text = from_rows(tmp_path, [{"case": "a", "passed": True, "duration": 0.5}])
    assert yaml.safe_load(text)["columns"] == {"id": "case", "passed": "passed"}
    assert "# latency_ms: duration  # if it is in milliseconds" in text
    assert "# latency_ms: { path: duration, times: 1000 }  # if it is in seconds" in text
    assert "latency" not in (tmp_path / "highbar.yaml").read_text("utf-8")


def test_repeated_ids_are_not_taken_for_repetitions(tmp_path):
    text = from_rows(tmp_path, [{"case": "a", "passed": True}, {"case": "a", "passed": True}])
    assert '# trial: "@repeat"' in text
    assert run(tmp_path, "check", "own.jsonl", "--map", "map.yaml").exit == 2
    (tmp_path / "map.yaml").write_text(text.replace("# trial", "trial"))
    assert run(tmp_path, "check", "own.jsonl", "--map", "map.yaml").exit == 0


def test_lists_under_two_keys_are_a_choice_since_one_may_hold_the_failures(tmp_path):
    document = {"passed": [{"case": "a", "ok": True}], "failed": [{"case": "b", "ok": False}]}
    (tmp_path / "own.json").write_text(json.dumps(document))
    done = run(tmp_path, "init", "--from", "own.json")
    assert "at each []: rows" in done.err
    assert run(tmp_path, "check", "own.json", "--map", "map.yaml").exit == 2


@pytest.mark.parametrize(
    "words",
    [("PASS", "FAIL"), (1, 0), (1.0, 0.0), ("yes", "no"), (True, False), ("true", "false"), ("passed", "timeout")],
)
def test_words_for_true_and_false_are_mapped(tmp_path, words):
    from_rows(tmp_path, [{"case": "a", "passed": words[0]}, {"case": "b", "passed": words[1]}])
    done = run(tmp_path, "check", "own.jsonl", "--map", "map.yaml", "--format", "json")
    assert done.json["metrics"]["pass_rate"]["value"] == 0.5


def test_a_verdict_that_the_sample_does_not_have_is_refused_later(tmp_path):
    from_rows(tmp_path, [{"case": "a", "status": "passed"}])
    (tmp_path / "next.jsonl").write_bytes(lines([{"case": "a", "status": "flaky"}]))
    assert run(tmp_path, "check", "next.jsonl", "--map", "map.yaml").exit == 2
    (tmp_path / "next.jsonl").write_bytes(lines([{"case": "a", "status": "failed"}]))
    assert run(tmp_path, "check", "next.jsonl", "--map", "map.yaml").exit == 1


def test_an_error_that_no_row_has_yet_is_mapped(tmp_path):
    from_rows(tmp_path, [{"case": "a", "passed": True, "error": None}])
    (tmp_path / "next.jsonl").write_bytes(lines([{"case": "a", "passed": True, "error": "crash"}]))
    assert run(tmp_path, "check", "next.jsonl", "--map", "map.yaml").exit == 1


def test_a_success_of_the_run_is_no_verdict(tmp_path):
    rows = [{"case": "a", "status": "success"}, {"case": "b", "status": "error"}]
    text = from_rows(tmp_path, rows)
    assert "  passed: []" in text
    assert "only a run that came to its end?" in text
    assert "error: false" in text  # it has not passed


# --- what a stranger's file must not do --------------------------------------------------------

HOSTILE = [
    'a "b" c',
    "two\nlines",
    "\x1b[2Jred",
    "a: b # c",
    "- &x *y !z",
    "{}",
    "[]",
    "a.b[0]",
    "::error::x",
    "##[error]x",
    "\u202egnol",
    "\u2028",
    "\x85",
    "'",
    '"',
    "\\",
    "null",
    "yes",
    "@key",
    "^.x",
    "$.y",
    "%",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "é" * 300,
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_breaks_neither_the_yaml_nor_the_terminal(tmp_path, name):
    rows = [{"case": "a", name: True, "status": "passed"}, {"case": "b", name: 3, "status": name or "x"}]
    (tmp_path / "own.jsonl").write_bytes(lines(rows))
    shown = run(tmp_path, "check", "own.jsonl")
    assert shown.exit == 2
    assert all(line.isprintable() for line in shown.err.splitlines())
    assert "\n::" not in shown.err
    done = run(tmp_path, "init", "--from", "own.jsonl")
    assert done.exit == 0, done.err
    assert yaml.safe_load((tmp_path / "map.yaml").read_text("utf-8"))["columns"]["id"] == "case"
    assert run(tmp_path, "check", "own.jsonl", "--map", "map.yaml").exit in (0, 1, 2)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_rows_under_a_hostile_key_are_found(tmp_path, name):
    (tmp_path / "own.json").write_text(json.dumps({name: [{"case": "a", "passed": True}], "n": 1}))
    done = run(tmp_path, "init", "--from", "own.json")
    assert done.exit == 0, done.err
    mapping = yaml.safe_load((tmp_path / "map.yaml").read_text("utf-8"))
    checked = run(tmp_path, "check", "own.json", "--map", "map.yaml")
    assert checked.exit == (0 if mapping["rows"] else 2), checked.err


def test_a_hostile_file_name_is_not_put_into_a_command(tmp_path):
    name = "x; rm -rf $(y) '\x1b.jsonl"
    (tmp_path / name).write_bytes(lines(ROWS))
    done = run(tmp_path, "init", "--from", name)
    assert done.exit == 0, done.err
    assert "highbar check FILE --map map.yaml" in done.err
    assert yaml.safe_load((tmp_path / "map.yaml").read_text("utf-8"))["columns"]
    plain = "x; y.jsonl"
    (tmp_path / plain).write_bytes(lines(ROWS))
    assert "highbar check 'x; y.jsonl' --map" in run(tmp_path, "check", plain).err


def test_ten_thousand_columns_are_not_all_listed(tmp_path):
    wide = {f"column {number}": number for number in range(10_000)}
    text = from_rows(tmp_path, [{"case": f"c{number}", "passed": True, **wide} for number in range(3)])
    assert len(text) < 3000
    assert "and 9,980 more" in text
    assert len(run(tmp_path, "check", "own.jsonl").err) < 3000


@pytest.mark.parametrize("depth", [20, 500, 100_000])
def test_deep_nesting_is_no_fault(tmp_path, depth):
    deep = '{"a":' * depth + "1" + "}" * depth
    (tmp_path / "own.jsonl").write_text(f'{{"case": "a", "passed": true, "deep": {deep}}}\n')
    assert run(tmp_path, "check", "own.jsonl").exit == 2
    assert run(tmp_path, "init", "--from", "own.jsonl").exit in (0, 2)


def test_misspelled_columns_and_the_mapping_are_shown_together(tmp_path):
    (tmp_path / "own.jsonl").write_bytes(lines([{"Id": "a", "Passed": True}, {"Id": "b", "Passed": True}]))
    done = run(tmp_path, "check", "own.jsonl")
    assert "'id'" in done.err
    assert done.codes.count("row.missing-id") == 1
    assert "      passed: Passed\n" in done.err


def test_the_command_that_is_shown_is_quoted_as_a_shell_wants_it(tmp_path):
    (tmp_path / "own.jsonl").write_text('{"id": "a", "passed": true}\n')
    done = run(tmp_path, "init", "my evals", "--from", "own.jsonl")
    assert done.exit == 0, done.err
    assert "highbar check own.jsonl --policy 'my evals/highbar.yaml'" in done.out + done.err
