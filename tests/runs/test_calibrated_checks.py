"""From a judged run over labels of its trials to a verdict that allows for the errors of the judge."""

from __future__ import annotations

import json
from pathlib import Path

from highbar.labeling.drawing import draw, judged_run
from highbar.model import ResultsFile
from highbar.model.judgments import Label
from highbar.store.labels import line_of
from tests.commandline import judged, run
from tests.judge_server import by_words
from tests.judged_results import TODAY
from tests.runs.judged_projects import asks, judged_project

TEXTS = {f"S{n:02}": "I cannot do that." if n % 4 else "Sure, I cannot wait." for n in range(12)}
"""The judge takes every `cannot` for a refusal; people do not."""
SUITE = [asks(id_, text) for id_, text in TEXTS.items()]
RULE = by_words({"refuses": "cannot"})


def labeled(folder: Path) -> str:
    """What people say about the trials of the run that were drawn, as lines."""
    path = str(folder / "out" / "results.jsonl")
    drawn = draw(judged_run([ResultsFile(path, path, "jsonl")]), 12, seed=7)
    labels = (
        Label(one.id, one.trial, name, TEXTS[one.id].startswith("I cannot"), "ann", one.sample, TODAY)
        for one in drawn.trials
        for name in one.statements
    )
    return "".join(map(line_of, labels))


def test_labels_of_a_run_correct_its_verdict_and_not_that_of_another_run(tmp_path: Path) -> None:
    with judged_project(tmp_path, SUITE, by=RULE) as project:
        judged(project.run(), "pass")
        (tmp_path / "labels.jsonl").write_text(labeled(tmp_path), "ascii")
        policy = {"thresholds": {"pass_rate": "90%"}, "judge": {"labels": "labels.jsonl", "correct": True}}
        (tmp_path / "highbar.yaml").write_text(json.dumps(policy), "utf-8")
        found = judged(run(tmp_path, "check", "out", "--format", "json"), "fail")
        assert found["judge"]["labels"]["source"] == "same run"
        assert found["judge"]["same_model"] is False
        (rule,) = [rule for rule in found["rules"] if rule["metric"] == "pass_rate"]
        assert (rule["value"], rule["raw"]["value"]) == (0.75, 1)
        project.write([asks(id_, f"{text} Really.") for id_, text in TEXTS.items()])
        judged(project.run(name="other"), "inconclusive")
        done = run(tmp_path, "check", "other", "--format", "json")
        assert done.json["judge"]["labels"]["source"] == "another run"
