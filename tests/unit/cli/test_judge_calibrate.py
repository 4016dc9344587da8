"""`highbar judge calibrate`: what it says about a judge, of which labels, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from highbar.cli import streams
from highbar.errors import ReportError
from highbar.store.calibration import schema
from highbar.store.labels import read_labels, run_digest
from tests.commandline import Run, run
from tests.judged_results import judged_must_not, judged_row, labels_of, stratum_of, write_lines

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def calibrate(folder: Path, *arguments: str) -> Run:
    return run(folder, "judge", "calibrate", "results.jsonl", "--labels", "labels.jsonl", *arguments)


def drawn(
    rows: Sequence[Mapping[str, Any]], chosen: Sequence[Mapping[str, Any]], truth: Mapping[str, Any], by: str = "ann"
):
    """Labels of the chosen rows as `highbar judge label` has them, drawn from all rows."""
    run_of = run_digest((row["id"], row.get("trial", 1), row["judged"]["digest"]) for row in rows)
    labels = labels_of(chosen, truth, by=by, among=rows, run=run_of)
    counts = {name: sum(stratum_of(row) == name for row in chosen) for name in ("passed", "failed")}
    for label in labels:
        label["sample"]["drawn"] = counts[label["sample"]["stratum"]]
    return labels


def a_run() -> tuple[list[dict[str, Any]], dict[str, bool]]:
    """Of 95 trials that people pass the judge passes 90; of 25 that they fail it passes 10."""
    kinds = [(True, True)] * 90 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    rows = [judged_row(f"S-{n}", said) for n, (_, said) in enumerate(kinds)]
    return rows, {f"S-{n}": good for n, (good, _) in enumerate(kinds)}


def write_run(folder: Path) -> None:
    rows, truth = a_run()
    write_lines(folder / "results.jsonl", rows)
    chosen = [row for n, row in enumerate(rows) if n % 2 == 0 or stratum_of(row) == "failed"]
    write_lines(folder / "labels.jsonl", drawn(rows, chosen, truth))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run, and labels of half of what the judge passed and of all that it failed."""
    write_run(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What it says about them, as JSON."""
    folder = tmp_path_factory.mktemp("calibrated")
    write_run(folder)
    return calibrate(folder, "--format", "json").json


# --- what it says ----------------------------------------------------------------------------


def test_labels_stand_for_the_trials_of_their_stratum(report: dict[str, Any]) -> None:
    passes = report["passes"]
    assert report["labels_of"] == "same run"
    assert passes["sensitivity"]["value"] == pytest.approx(90 / 95)
    assert passes["specificity"]["value"] == pytest.approx(15 / 25)
    assert passes["agreement"]["share"] == pytest.approx(105 / 120)
    assert passes["agreement"]["base_rate"] == pytest.approx(95 / 120)
    assert passes["agreement"]["constant"] == pytest.approx(95 / 120)
    assert passes["specificity"]["low"] < 0.6 < passes["specificity"]["high"]


def test_one_statement_per_trial_has_the_rates_of_trials(report: dict[str, Any]) -> None:
    (behavior,) = report["behaviors"]
    assert (behavior["name"], behavior["statement"]) == ("polite", "The reply is polite.")
    for key in ("sensitivity", "specificity", "agreement"):
        assert behavior[key] == report["statements"][key] == report["passes"][key]


def test_the_metrics_are_shown_as_judged_and_as_people_would_have_them(report: dict[str, Any]) -> None:
    found = {one["metric"]: one for one in report["metrics"]}
    assert found["pass_rate"]["raw"] == pytest.approx(100 / 120)
    assert found["pass_rate"]["corrected"] == pytest.approx(95 / 120)
    assert found["pass_rate"]["method"] == "post-stratified"
    assert found["pass_rate"]["low"] < found["pass_rate"]["corrected"] < found["pass_rate"]["high"]


def test_disagreements_have_both_sides_and_the_evidence(folder: Path) -> None:
    rows, truth = a_run()
    rows[96]["judged"]["statements"]["polite"]["evidence"] = "with pleasure"
    write_lines(folder / "results.jsonl", rows)
    write_lines(folder / "labels.jsonl", drawn(rows, rows, truth))
    found = calibrate(folder, "--format", "json").json["disagreements"]
    assert len(found) == 15
    (one,) = [each for each in found if each["id"] == "S-96"]
    assert (one["judgment"], one["observed"], one["evidence"]) == ("observed", False, "with pleasure")
    assert one["people"] == [{"by": "ann", "observed": False}]
    text = calibrate(folder).out
    assert "people: not observed (ann); judge: observed" in text
    assert "its evidence: with pleasure" in text


def test_several_people_are_compared_with_each_other_and_their_majority_with_the_judge(folder: Path) -> None:
    rows, truth = a_run()
    few = [*rows[:8], *rows[-8:]]
    turned = {id_: not good if id_ in ("S-0", "S-1") else good for id_, good in truth.items()}
    lines = [
        label for by, said in (("ann", truth), ("ben", turned), ("cy", truth)) for label in drawn(rows, few, said, by)
    ]
    write_lines(folder / "labels.jsonl", lines)
    found = calibrate(folder, "--format", "json").json
    assert found["people"] == ["ann", "ben", "cy"]
    assert (found["trials"], found["incomplete"]) == (16, 0)
    between = found["between_people"]
    shares = {(pair["first"], pair["second"]): pair["share"] for pair in between["pairs"]}
    assert shares == {("ann", "ben"): 14 / 16, ("ann", "cy"): 1, ("ben", "cy"): 14 / 16}
    assert 0 < between["alpha"] < 1


def test_who_cannot_tell_is_counted_and_a_judge_that_cannot_is_not_right(folder: Path) -> None:
    rows = [judged_must_not(f"M-{n}", said) for n, said in enumerate([False] * 8 + [True] * 8 + [None] * 2)]
    truth = {f"M-{n}": n >= 8 for n in range(18)} | {"M-0": None}
    write_lines(folder / "results.jsonl", rows)
    write_lines(folder / "labels.jsonl", drawn(rows, rows, truth))
    found = calibrate(folder, "--format", "json").json
    statement = found["statements"]
    assert (statement["judge_cannot_tell"], statement["people_cannot_tell"]) == (2, 1)
    assert found["incomplete"] == 0, "what people cannot tell counts as a failure of the trial"
    assert statement["sensitivity"]["value"] < 1
    assert statement["agreement"]["share"] == 1


def test_the_confidence_of_the_bounds_can_be_chosen(folder: Path, report: dict[str, Any]) -> None:
    sure = calibrate(folder, "--format", "json", "--confidence", "99%").json
    assert sure["confidence"] == 0.99
    assert sure["passes"]["sensitivity"]["low"] < report["passes"]["sensitivity"]["low"]


# --- of which results ------------------------------------------------------------------------


def test_labels_of_another_run_are_recognized(folder: Path) -> None:
    rows, _ = a_run()
    for row in rows:
        row["judged"]["conversation"] = row["judged"]["conversation"][::-1]
        row["judged"]["digest"] = row["judged"]["digest"][::-1]
    write_lines(folder / "results.jsonl", rows)
    found = calibrate(folder, "--format", "json").json
    assert found["labels_of"] == "another run"
    (rate,) = [one for one in found["metrics"] if one["metric"] == "pass_rate"]
    assert rate["method"] == "rogan-gladen"


def without_sample(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [{name: value for name, value in line.items() if name != "sample"} for line in lines]


def test_labels_that_do_not_say_are_taken_for_those_of_the_results_and_can_be_bound(folder: Path) -> None:
    write_lines(folder / "labels.jsonl", without_sample(folder / "labels.jsonl"))
    done = calibrate(folder, "--bind", "bound.jsonl")
    assert done.exit == 0
    assert "because you" in done.out
    assert "--bind" in done.out
    bound = read_labels(folder / "bound.jsonl")
    assert bound.unbound == ()
    assert {trial.sample.stratum for trial in bound.trials} == {"given"}
    assert {trial.sample.drawn for trial in bound.trials} == {0}
    again = run(folder, "judge", "calibrate", "results.jsonl", "--labels", "bound.jsonl", "--format", "json")
    assert again.json["labels_of"] == "these results, as you say"


def test_nothing_is_bound_over_a_file_that_is_there(folder: Path) -> None:
    (folder / "mine.jsonl").write_text("precious")
    done = calibrate(folder, "--bind", "mine.jsonl")
    assert (done.exit, done.codes) == (2, ["file.exists"])
    assert "mine.jsonl" in done.err
    assert (folder / "mine.jsonl").read_text() == "precious"


def test_labels_of_other_trials_and_behaviors_are_named(folder: Path) -> None:
    labels = without_sample(folder / "labels.jsonl")
    labels += [{**labels[0], "id": "GONE"}, {**labels[0], "behavior": "kind"}]
    write_lines(folder / "labels.jsonl", labels)
    found = calibrate(folder, "--format", "json").json
    assert found["unused"] == [
        "GONE, trial 1: not among the judged trials of these results",
        "S-0, trial 1: kind is not among its judged statements",
    ]


@pytest.mark.parametrize("form", ["text", "json"])
def test_it_is_refused_if_no_label_is_usable(folder: Path, form: str) -> None:
    write_lines(
        folder / "labels.jsonl", [{"id": "GONE", "trial": 1, "behavior": "polite", "observed": True, "by": "ann"}]
    )
    done = calibrate(folder, "--format", form, "--output", "out.json", "--output", "out.html")
    assert done.exit == 2
    assert "GONE, trial 1: not among the judged trials" in (done.out if form == "json" else done.err)
    assert json.loads((folder / "out.json").read_text("utf-8"))["problems"]
    assert "GONE" in (folder / "out.html").read_text("utf-8")


def test_labels_of_another_judge_do_not_count(folder: Path) -> None:
    rows = [dict(row, judge="judge-2 #ba9876543210") for row in a_run()[0]]
    write_lines(folder / "results.jsonl", rows)
    done = calibrate(folder)
    assert (done.exit, set(done.codes)) == (2, {"label.none"})
    assert "another judge: judge-1" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--confidence", "40%"), "option.bad-value", "50%"),
        (("--confidence", "sure"), "option.bad-value", "--confidence sure"),
        (("--output", "out.xml"), "output.not-in-format", "junit"),
        (("--output", "l.json", "--output", "json=labels.jsonl"), "file.read-and-written", "labels.jsonl"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    folder: Path, arguments: tuple[str, ...], code: str, named: str
) -> None:
    done = calibrate(folder, *arguments)
    assert (done.exit, done.codes) == (2, [code])
    assert named in done.err


def test_results_that_no_judge_judged_are_refused(folder: Path) -> None:
    write_lines(folder / "results.jsonl", [{"id": "A", "passed": True}])
    done = calibrate(folder)
    assert (done.exit, done.codes) == (2, ["label.nothing-judged"])


# --- formats ---------------------------------------------------------------------------------


def test_the_document_fits_its_schema(folder: Path, report: dict[str, Any]) -> None:
    jsonschema.validate(report, schema())
    write_lines(
        folder / "labels.jsonl", [{"id": "GONE", "trial": 1, "behavior": "polite", "observed": True, "by": "ann"}]
    )
    jsonschema.validate(calibrate(folder, "--format", "json").json, schema())


def test_no_text_of_a_file_acts_in_a_report(folder: Path) -> None:
    rows, truth = a_run()
    for row in rows:
        row["judge"] = HOSTILE
        row["judged"]["statements"]["polite"] |= {"statement": HOSTILE, "evidence": HOSTILE}
    write_lines(folder / "results.jsonl", rows)
    write_lines(folder / "labels.jsonl", drawn(rows, rows, truth, by="a<b>"))
    done = calibrate(folder, "--output", "out.html")
    assert done.exit == 0
    assert "\x1b[2J" not in done.out
    page = (folder / "out.html").read_text("utf-8")
    assert "<script" not in page
    assert "<b>)" not in page
    assert "\u202e" not in page


def test_quiet_prints_the_headline_alone(folder: Path) -> None:
    done = calibrate(folder, "--quiet")
    assert done.out.startswith("JUDGE: judge-1 #0123456789ab: sensitivity 94.7%")
    assert done.out.count("\n") == 1


def test_a_closed_standard_output_costs_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: str) -> None:
        raise ReportError("standard output is closed")

    monkeypatch.setattr(streams, "print_text", closed)
    done = calibrate(folder, "--output", "judge.json", "--bind", "bound.jsonl")
    assert (done.exit, done.err) == (4, "highbar: standard output is closed\n")
    assert "passes" in json.loads((folder / "judge.json").read_text())
    assert (folder / "bound.jsonl").read_text()
