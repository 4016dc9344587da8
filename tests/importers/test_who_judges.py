"""Who judges the records of other tools: the policy's `judged_by`, from the file to every report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from highbar import importers
from highbar.importers import IMPORTERS
from highbar.policy.judged_by import TOOLS, TOOLS_WITHOUT_SCORERS
from tests.commandline import Run, judged, refused, run
from tests.importers.imported import FIXTURES
from tests.importers.judging import FILE, installed

RULE = "thresholds: { blocking: { pass_rate: 50% } }\n"
BY_TRUTH = RULE + "judged_by: { scored: { scorer: truth, at_least: 0.8 } }\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package is installed beside Highbar. That one is found by a new process, test_outsiders.py shows."""
    installed(tmp_path / "installed")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    importers._entry_points.cache_clear()
    yield
    importers._entry_points.cache_clear()
    sys.modules.pop("highbar_scored", None)


def check(folder: Path, policy: str, *arguments: str, file: str = FILE) -> Run:
    (folder / "highbar.yaml").write_text(policy, "utf-8")
    (folder / "results.json").write_text(file, "utf-8")
    return run(folder, "check", "results.json", *arguments)


@pytest.mark.usefixtures("place")
def test_the_policy_says_who_judges_and_every_report_does_too(tmp_path):
    done = check(tmp_path, BY_TRUTH, "--format", "json", "--output", "v.md", "--output", "v.html")
    verdict = judged(done, "pass")
    assert verdict["judged_by"] == [{"tool": "scored", "judges": ["truth at least 0.8"], "declared_by": "policy"}]
    assert verdict["counts"]["failed"] == 1
    text = check(tmp_path, BY_TRUTH)
    assert "judged by scored: truth at least 0.8 (policy)" in text.out.splitlines()
    assert "judged by `scored`: `truth at least 0.8` (policy)" in (tmp_path / "v.md").read_text("utf-8")
    assert "truth at least 0.8" in (tmp_path / "v.html").read_text("utf-8")


@pytest.mark.usefixtures("place")
def test_all_scorers_that_are_listed_must_hold(tmp_path):
    policy = RULE + "judged_by: { scored: [ { scorer: truth, at_least: 0.8 }, { scorer: style, at_least: 0.8 } ] }\n"
    assert judged(check(tmp_path, policy, "--format", "json"), "fail")["counts"]["failed"] == 2


@pytest.mark.usefixtures("place")
def test_a_row_without_the_scorer_is_undecided(tmp_path):
    done = check(tmp_path, BY_TRUTH, "--format", "json", file="SCORED\na truth=0.9\nb truth=0.9\nc style=1\n")
    assert judged(done, "pass")["counts"]["undecided"] == 1
    policy = BY_TRUTH.replace("50%", "90%")
    judged(check(tmp_path, policy, "--format", "json", file="SCORED\na truth=0.9\nc style=1\n"), "inconclusive")


@pytest.mark.usefixtures("place")
def test_a_file_without_a_declared_judge_is_refused_with_a_line_that_can_be_pasted(tmp_path):
    done = check(tmp_path, RULE, "--format", "json")
    refused(done, "'style', 'truth'", code="judge.undeclared")
    hint = done.json["problems"][0]["hint"]
    pasted = hint[hint.index("judged_by: ") :]
    assert check(tmp_path, RULE + pasted.replace("style", "truth") + "\n").exit == 1


@pytest.mark.usefixtures("place")
def test_a_scorer_that_the_file_does_not_have_is_refused_with_those_that_it_has(tmp_path):
    done = check(tmp_path, RULE + "judged_by: { scored: speed }\n", "--format", "json")
    refused(done, "speed", "style, truth")


@pytest.mark.usefixtures("place")
def test_a_reader_that_does_not_listen_is_refused(tmp_path):
    module = tmp_path / "installed" / "highbar_scored.py"
    module.write_text(
        module.read_text("utf-8")
        .replace("report.judges = tuple(", "unheard = tuple(")
        .replace("in report.judges", "in unheard"),
        "utf-8",
    )
    refused(check(tmp_path, BY_TRUTH, "--format", "json"), "takes no such order")


@pytest.mark.usefixtures("place")
def test_import_lists_every_scorer_and_what_became_of_it(tmp_path):
    (tmp_path / "release.yaml").write_text(BY_TRUTH, "utf-8")
    (tmp_path / "results.json").write_text(FILE, "utf-8")
    done = run(tmp_path, "import", "scored", "results.json", "--policy", "release.yaml")
    assert done.exit == 0
    assert [json.loads(line)["passed"] for line in done.out.splitlines()] == [True, False]
    for line in ("judged by: truth", "scorer truth: judges", "scorer style: a column"):
        assert f"  {line}" in done.err.splitlines()


@pytest.mark.usefixtures("place")
def test_compare_says_who_judged_on_each_side(tmp_path):
    check(tmp_path, BY_TRUTH)
    (tmp_path / "head.json").write_text(FILE, "utf-8")
    done = run(tmp_path, "compare", "results.json", "head.json")
    assert done.out.count("judged by scored: truth at least 0.8 (policy)") == 2
    done = run(tmp_path, "compare", "results.json", "head.json", "--format", "json")
    assert [one["judges"] for one in done.json["judged_by"]] == [["truth at least 0.8"]]
    assert done.json["base"]["judged_by"] == done.json["judged_by"]


@pytest.mark.usefixtures("place")
def test_a_baseline_under_another_judge_is_not_compared_with(tmp_path):
    policy = BY_TRUTH + "baseline: { file: baseline.json, margin: { pass_rate: 1% } }\n"
    check(tmp_path, policy)
    recorded = run(tmp_path, "baseline", "record", "results.json")
    assert recorded.exit == 0, recorded.err
    assert json.loads((tmp_path / "baseline.json").read_text("utf-8"))["judged_by"] == {
        "scored": ["truth at least 0.8"]
    }
    assert "scored: truth at least 0.8" in run(tmp_path, "baseline", "show").out
    assert check(tmp_path, policy).exit == 0
    done = check(tmp_path, policy.replace("0.8", "0.7"), "--format", "json")
    assert judged(done, "fail")
    assert "judged by other scorers" in done.rule("baseline.pass_rate")["reason"]


@pytest.mark.usefixtures("place")
def test_a_change_of_who_judges_is_shown(tmp_path):
    (tmp_path / "highbar.yaml").write_text(BY_TRUTH, "utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "highbar.yaml"], ["commit", "-qm", "policy"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    done = check(tmp_path, BY_TRUTH.replace("0.8", "0.5"), "--against-ref", "HEAD", "--format", "json")
    assert [one["what"] for one in done.json["against"]["weakened"]] == ["highbar.yaml"]
    assert "at_least: 0.5" in done.json["against"]["difference"]


def test_highbar_policy_says_who_judges(tmp_path):
    inspect = "inspect: [ { scorer: match }, { scorer: grade, at_least: 0.8 } ]"
    policy = f"{RULE}judged_by: {{ {inspect}, lm_eval: {{ metric: acc_norm, filter: none }} }}\n"
    (tmp_path / "highbar.yaml").write_text(policy, "utf-8")
    done = run(tmp_path, "policy")
    assert done.exit == 0, done.err
    told = " ".join(done.out.split())
    assert "A record passes by its scorers: match and grade at least 0.8 must all hold." in told
    assert "judged_by.lm-eval A record passes by its scorers: acc_norm (filter none) must hold." in told


@pytest.mark.parametrize(
    ("block", "code", "told"),
    [
        ("{ inspec: match }", "policy.unknown-key", "judged_by.inspec: "),
        ("{ inspect: { scorer: match, at_most: 1 } }", "policy.unknown-key", "'at_most'"),
        ("{ inspect: { scorer: match, at_least: high } }", "policy.wrong-type", "at_least: found text 'high'"),
        ("{ inspect: { scorer: match, filter: none } }", "policy.unknown-key", "'filter'"),
        ("{ inspect: { at_least: 0.8 } }", "policy.missing-key", "scorer or metric"),
        ("{ inspect: [] }", "policy.empty-value", "judged_by.inspect: "),
        ("{ inspect: [match, match] }", "policy.listed-twice", "'match'"),
        ("{ lm_eval: acc, lm-eval: acc }", "policy.listed-twice", "'lm-eval'"),
        ("{ junit: passed }", "policy.no-effect", "judged_by.junit: "),
        ("{ tau_bench: reward }", "policy.no-effect", "judged_by.tau_bench: "),
        ("{ map: passed }", "policy.no-effect", "judged_by.map: "),
        ("{}", "policy.empty-value", "judged_by: "),
    ],
)
def test_what_is_wrong_with_judged_by_is_said_with_its_line(tmp_path, block, code, told):
    (tmp_path / "highbar.yaml").write_text(f"{RULE}judged_by: {block}\n", "utf-8")
    done = run(tmp_path, "policy")
    assert done.exit == 2
    assert done.codes == [code]
    assert "highbar.yaml:2:" in done.err
    assert told in done.err


def test_every_tool_is_one_that_has_scorers_to_choose_from_or_one_that_has_not():
    assert sorted({*TOOLS, *TOOLS_WITHOUT_SCORERS}) == sorted(importer.name for importer in IMPORTERS)
    assert not {*TOOLS} & {*TOOLS_WITHOUT_SCORERS}


def test_a_format_that_leaves_nothing_to_choose_says_what_judged(tmp_path):
    (tmp_path / "highbar.yaml").write_text(RULE, "utf-8")
    report = next(iter(sorted((FIXTURES / "junit").glob("*.xml"))))
    (tmp_path / "report.xml").write_bytes(report.read_bytes())
    assert "judged by junit: " in run(tmp_path, "check", "report.xml").out


def test_rows_of_ours_have_no_such_line(tmp_path):
    (tmp_path / "highbar.yaml").write_text(RULE, "utf-8")
    (tmp_path / "results.jsonl").write_text('{"id": "a", "passed": true}\n')
    assert "judged by" not in run(tmp_path, "check", "results.jsonl").out


@pytest.mark.usefixtures("place")
def test_an_unknown_version_is_said_even_to_those_who_want_one_line(tmp_path):
    module = tmp_path / "installed" / "highbar_scored.py"
    told = 'report.warn("version 9 of the format is newer than 3"); report.warn("a trifle")\n    lines ='
    module.write_text(module.read_text("utf-8").replace("lines =", told), "utf-8")
    done = check(tmp_path, BY_TRUTH, "--quiet")
    assert done.exit == 0
    assert done.err == "results.json: version 9 of the format is newer than 3\n"
    assert done.out.count("\n") == 1
    done = check(tmp_path, BY_TRUTH)
    assert "version 9" in done.out
    assert "version 9" not in done.err


@dataclass(frozen=True, slots=True)
class Judged:
    """A file of a tool, a scorer of it that the policy names, how reports name it, and one that then judges nothing."""

    tool: str
    file: str
    demand: str
    judge: str
    other: str


REAL = [
    Judged(
        "inspect",
        "inspect/chunked.eval",
        "{ scorer: rubric.safe, at_least: 0.8 }",
        "rubric.safe at least 0.8",
        "graded",
    ),
    Judged("lm-eval", "lm_eval/samples_choices_2026-01-01T00-00-00.000000.jsonl", "acc_norm", "acc_norm", "acc"),
    Judged(
        "every-eval-ever",
        "every_eval_ever/00000003-0000-4000-8000-000000000000_samples.jsonl",
        "{ scorer: 'stars:mean', at_least: 4 }",
        "stars:mean at least 4",
        "graded:accuracy",
    ),
    Judged("promptfoo", "promptfoo/matrix.json", "length", "length", "accuracy"),
    Judged("deepeval", "deepeval/test_run.json", "Correctness", "Correctness", "Bias"),
    Judged(
        "mlflow", "mlflow/eval_results.json", "{ scorer: relevance, at_least: 0.5 }", "relevance at least 0.5", "polite"
    ),
    Judged("otel", "otel/logs.jsonl", "{ scorer: Relevance, at_least: 0.5 }", "Relevance at least 0.5", "Polite"),
    Judged("pydantic-evals", "pydantic_evals/once.json", "EqualsExpected", "EqualsExpected", "polite"),
]


def test_every_tool_with_scorers_to_choose_from_is_tried():
    assert sorted(one.tool for one in REAL) == sorted(TOOLS)


@pytest.mark.parametrize("one", REAL, ids=lambda one: one.tool)
def test_the_scorer_that_the_policy_names_judges_files_of_the_real_tool(tmp_path, one):
    (tmp_path / "highbar.yaml").write_text(f"{RULE}judged_by: {{ {one.tool}: {one.demand} }}\n", "utf-8")
    file = str(FIXTURES / one.file)
    text = run(tmp_path, "check", file, "--output", "verdict.json")
    assert text.exit != 2
    assert f"judged by {one.tool}: {one.judge} (policy)" in text.out.splitlines()
    verdict = json.loads((tmp_path / "verdict.json").read_text("utf-8"))
    assert verdict["judged_by"] == [{"tool": one.tool, "judges": [one.judge], "declared_by": "policy"}]
    listed = run(tmp_path, "import", one.tool, file, "--policy", "highbar.yaml")
    assert listed.exit == 0
    name = one.judge.partition(" at least ")[0]
    lines = [line.strip() for line in listed.err.splitlines()]
    assert f"judged by: {name}" in lines
    assert f"scorer {name}: judges" in lines
    assert any(line.startswith(f"scorer {one.other}: a column, does not judge") for line in lines)


@pytest.mark.parametrize("one", REAL, ids=lambda one: one.tool)
def test_a_scorer_that_no_record_of_the_real_tool_has_is_refused_with_those_that_there_are(tmp_path, one):
    (tmp_path / "highbar.yaml").write_text(f"{RULE}judged_by: {{ {one.tool}: nobody }}\n", "utf-8")
    done = run(tmp_path, "check", str(FIXTURES / one.file), "--format", "json")
    refused(done, "nobody", one.judge.partition(" at least ")[0], one.other)


def trace(number: int, safe: object) -> dict[str, object]:
    """A trace of MLflow with a verdict on its correctness, and what a second scorer says."""
    given = {"correctness": True, "safe": safe}
    return {
        "trace_id": f"tr-{number}",
        "state": "OK",
        "request": {"question": f"q{number}"},
        "response": "r",
        "execution_duration": 5,
        "tags": {},
        "trace_metadata": {},
        "spans": [],
        "assessments": [
            {
                "assessment_name": name,
                "source": {"source_type": "CODE", "source_id": name},
                "feedback": {"value": value},
                "valid": True,
            }
            for name, value in given.items()
        ],
        **{f"{name}/value": value for name, value in given.items()},
    }


def evaluations(case: str, safe: str) -> str:
    """The evaluations of a test case as OpenTelemetry has them: polite, and what a second evaluator says."""
    records = [
        {
            "attributes": [
                {"key": "test.case.name", "value": {"stringValue": case}},
                {"key": "gen_ai.evaluation.name", "value": {"stringValue": name}},
                {"key": "gen_ai.evaluation.score.label", "value": {"stringValue": label}},
            ],
            "traceId": "7af783cee2efd5f5bde1824c002c6f61",
            "spanId": f"{ord(case):016x}",
            "eventName": "gen_ai.evaluation.result",
        }
        for name, label in (("polite", "pass"), ("safe", safe))
    ]
    return json.dumps({"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": records}]}]}) + "\n"


def in_two_files(folder: Path, tool: str, said: object) -> list[str]:
    """Two files in the first of which the scorer `safe` gives a verdict, and in the second something else."""
    if tool == "mlflow":
        (folder / "a.json").write_text(json.dumps([trace(1, "yes")]), "utf-8")
        (folder / "b.json").write_text(json.dumps([trace(2, said), trace(3, said)]), "utf-8")
        return ["a.json", "b.json"]
    (folder / "a.jsonl").write_text(evaluations("a", "pass"), "utf-8")
    (folder / "b.jsonl").write_text(evaluations("b", str(said)) + evaluations("c", str(said)), "utf-8")
    return ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(("tool", "said"), [("mlflow", "No."), ("mlflow", 0), ("otel", "unsafe")])
def test_a_scorer_that_judges_in_one_file_and_not_in_another_is_refused(tmp_path, tool, said):
    files = in_two_files(tmp_path, tool, said)
    (tmp_path / "highbar.yaml").write_text(RULE, "utf-8")
    for order in (files, files[::-1]):
        done = run(tmp_path, "check", *order, "--format", "json")
        refused(done, "'safe' judges in", *files, f"judged_by: {{ {tool}: [")
    for name in files:
        assert run(tmp_path, "check", name).exit == 0
    done = run(tmp_path, "import", tool, *files, "--output", "rows.jsonl")
    assert done.exit == 2
    assert "'safe' judges in" in done.err
    assert not (tmp_path / "rows.jsonl").exists()


@pytest.mark.parametrize(("tool", "said"), [("mlflow", "No."), ("mlflow", 0), ("otel", "unsafe")])
def test_a_policy_that_says_who_judges_settles_it_for_all_files(tmp_path, tool, said):
    files = in_two_files(tmp_path, tool, said)
    (tmp_path / "highbar.yaml").write_text(RULE, "utf-8")
    hint = run(tmp_path, "check", *files, "--format", "json").json["problems"][0]["hint"]
    (tmp_path / "highbar.yaml").write_text(RULE + hint[hint.index("judged_by: ") :] + "\n", "utf-8")
    done = run(tmp_path, "check", *files, "--format", "json")
    assert done.exit in (1, 3), done.err
    first = "correctness" if tool == "mlflow" else "polite"
    (tmp_path / "highbar.yaml").write_text(f"{RULE}judged_by: {{ {tool}: {first} }}\n", "utf-8")
    assert judged(run(tmp_path, "check", *files, "--format", "json"), "pass")["counts"]["scenarios"] == 3


def test_a_scorer_that_only_one_file_has_is_no_contradiction(tmp_path):
    other = trace(2, True)
    other = json.loads(json.dumps(other).replace("safe", "brief"))
    (tmp_path / "a.json").write_text(json.dumps([trace(1, "yes")]), "utf-8")
    (tmp_path / "b.json").write_text(json.dumps([other]), "utf-8")
    (tmp_path / "highbar.yaml").write_text(RULE, "utf-8")
    judged(run(tmp_path, "check", "a.json", "b.json", "--format", "json"), "pass")


def compared(folder: Path) -> tuple[Run, str]:
    """The comparison of base.json and head.json as JSON, and in words."""
    (folder / "highbar.yaml").write_text(RULE, "utf-8")
    done = run(folder, "compare", "base.json", "head.json", "--format", "json")
    return done, " ".join(run(folder, "compare", "base.json", "head.json").out.split())


def test_compare_says_that_base_and_head_have_other_judges(tmp_path):
    (tmp_path / "base.json").write_text(json.dumps([trace(1, "yes"), trace(2, "no")]), "utf-8")
    head = json.dumps([trace(1, True), trace(2, False)]).replace('"safe', '"brief')
    (tmp_path / "head.json").write_text(head, "utf-8")
    done, text = compared(tmp_path)
    told = "base and head are not alike: judged by other scorers: mlflow: correctness, safe in the baseline"
    assert told in text
    assert any(told in warning for warning in done.json["warnings"])
    assert [side["judged_by"][0]["judges"] for side in (done.json["base"], done.json["head"])] == [
        ["correctness", "safe"],
        ["correctness", "brief"],
    ]


def test_compare_says_that_another_tool_judged_or_that_only_one_side_says_who(tmp_path):
    (tmp_path / "base.json").write_text(json.dumps([trace(1, "yes")]).replace("q1", "a"), "utf-8")
    (tmp_path / "head.json").write_text(evaluations("a", "pass"), "utf-8")
    done, text = compared(tmp_path)
    told = "base and head are not alike: judged by other tools: mlflow in the baseline, otel now"
    assert told in text
    assert told in done.json["warnings"]
    (tmp_path / "head.json").write_text('[{"id": "a", "passed": true}]', "utf-8")
    done, text = compared(tmp_path)
    told = "who judged is known of the base only: mlflow: correctness, safe"
    assert told in text
    assert told in done.json["warnings"]
