# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-evals==2.62.0"]
# ///
"""pydantic-evals reports with passes, failures, crashes, broken evaluators and repeats; no model is called.

    python make_pydantic_evals.py FOLDER

writes FOLDER/once.json, FOLDER/repeated.json (reports as `EvaluationReportAdapter` dumps them) and FOLDER/totals.json
(the averages that pydantic-evals itself prints).
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic_evals import Case, Dataset, increment_eval_metric, set_eval_attribute
from pydantic_evals.evaluators import EqualsExpected, EvaluationReason, Evaluator
from pydantic_evals.reporting import EvaluationReportAdapter

CALLS = {}


@dataclass
class Judged(Evaluator):
    """One assertion, one score and one label; the judge breaks on a question that says so."""

    def evaluate(self, context):
        if "judge" in context.inputs:
            raise TimeoutError("the judge timed out")
        return {
            "polite": EvaluationReason(value="please" in context.output, reason="looked for please"),
            "relevance": len(context.output) / 16,
            "tone": "warm" if "please" in context.output else "cold",
        }


def agent(question):
    """Answers by rote; crashes on a question that says so, and on every second time it is asked to waver."""
    CALLS[question] = CALLS.get(question, 0) + 1
    if "crash" in question or ("waver" in question and CALLS[question] % 2 == 0):
        raise RuntimeError("the agent crashed")
    set_eval_attribute("model", "rote-1")
    increment_eval_metric("input_tokens", len(question))
    increment_eval_metric("output_tokens", 4)
    return "go away" if "rude" in question else "yes please"


def dataset():
    cases = [
        Case(name="plain", inputs="plain", expected_output="yes please", metadata={"category": "happy_path"}),
        Case(name="rude", inputs="rude", expected_output="yes please", metadata={"category": "adversarial"}),
        Case(name="crash", inputs="crash", expected_output="yes please", metadata={"category": "adversarial"}),
        Case(name="waver", inputs="waver", expected_output="yes please", metadata={"category": "edge_case"}),
        Case(name="judge down", inputs="judge", expected_output="yes please", metadata={"category": "edge_case"}),
        Case(name="unjudged", inputs="judge alone", metadata={"category": "edge_case", "locale": "de"}),
    ]
    return Dataset(name="rote", cases=cases, evaluators=[Judged(), EqualsExpected()])


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    totals = {}
    for name, repeat in (("once", 1), ("repeated", 3)):
        CALLS.clear()
        report = dataset().evaluate_sync(agent, name="v1", max_concurrency=1, progress=False, repeat=repeat)
        text = EvaluationReportAdapter.dump_json(report, indent=1).decode() + "\n"
        # Stack traces hold the places of this machine.
        text = text.replace(sys.prefix, "venv").replace(str(Path(__file__).parent), "recipes")
        (folder / f"{name}.json").write_text(text)
        averages = report.averages()
        totals[name] = {"assertions": averages.assertions, "scores": averages.scores}
    (folder / "totals.json").write_text(json.dumps(totals, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
