# /// script
# requires-python = ">=3.11"
# dependencies = ["mlflow==3.17.2"]
# ///
"""MLflow evaluation tables of both kinds, made by MLflow itself; no model is called.

    python make_mlflow.py FOLDER

writes FOLDER/eval_results.json and .jsonl (the table of `mlflow.genai.evaluate`, as pandas writes it),
FOLDER/sheet.json, .index.json, .table.json and .csv (of answers that the data brings along, in pandas' other forms),
FOLDER/eval_results_table.json (the artifact that `mlflow.models.evaluate` logs) and FOLDER/totals.json (the metrics
that MLflow logs for them).
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", MLFLOW_ENABLE_ASYNC_LOGGING="false", GIT_PYTHON_REFRESH="quiet")

import mlflow
import pandas as pd
from mlflow.entities import Feedback
from mlflow.genai import scorer
from mlflow.metrics import MetricValue, make_metric


@scorer
def correctness(outputs, expectations):
    return outputs == expectations.get("expected_response")


@scorer
def polite(outputs):
    return "yes" if outputs and "please" in outputs else "no"


@scorer
def relevance(inputs, outputs):
    if "judge" in inputs["question"]:
        raise TimeoutError("the judge timed out")
    return Feedback(value=len(outputs or "") / 16, rationale="its length")


@scorer
def tone(outputs):
    return "warm" if outputs else "none"


@scorer
def odd(inputs):
    """A judge that now and then gives no verdict: nothing, a text, a number."""
    return {"nothing": None, "text": "No.", "number": 0}.get(inputs["question"], True)


def agent(question):
    if "crash" in question:
        raise RuntimeError("the agent crashed")
    return "go away" if "rude" in question else "yes please"


def dataset():
    def row(question, category):
        expected = {"expected_response": "yes please", "is_urgent": True}
        return {"inputs": {"question": question}, "expectations": expected, "tags": {"category": category}}

    return [
        row("plain", "happy_path"),
        row("rude", "adversarial"),
        row("crash", "adversarial"),
        row("judge", "edge_case"),
        row("plain again", "happy_path"),
    ]


def genai(folder):
    result = mlflow.genai.evaluate(data=dataset(), predict_fn=agent, scorers=[correctness, polite, relevance, tone])
    table = result.tables["eval_results"]
    table.to_json(folder / "eval_results.json", orient="split")
    table.to_json(folder / "eval_results.jsonl", orient="records", lines=True)
    # Scorers run in threads, so that the order of what they say differs from run to run.
    reason = "\n".join(sorted(result.reason.splitlines()))
    return {"metrics": dict(sorted(result.metrics.items())), "passed": result.passed, "reason": reason}


def sheet(folder):
    """Answers that the data brings along: nobody runs an agent, so nobody measures how long it takes."""
    questions = ("plain", "nothing", "text", "number", "rude")
    data = [
        {"inputs": {"question": question}, "outputs": "go away" if question == "rude" else "yes please"}
        for question in questions
    ]
    result = mlflow.genai.evaluate(data=data, scorers=[polite, odd])
    table = result.tables["eval_results"]
    table.to_json(folder / "sheet.json")
    table.to_json(folder / "sheet.index.json", orient="index")
    table.to_json(folder / "sheet.table.json", orient="table")
    table.to_csv(folder / "sheet.csv")
    return {"metrics": dict(sorted(result.metrics.items()))}


def classic(folder, scratch):
    def length(predictions, targets):
        return MetricValue(scores=[None if p == "" else len(p) / 16 for p in predictions])

    def exact(predictions, targets):
        return MetricValue(scores=[int(p == t) for p, t in zip(predictions, targets, strict=True)])

    data = pd.DataFrame(
        {
            "inputs": ["plain", "rude", "silent"],
            "answer": ["yes please", "go away", ""],
            "truth": ["yes please", "yes please", "yes please"],
        }
    )
    with mlflow.start_run() as run:
        result = mlflow.models.evaluate(
            data=data,
            predictions="answer",
            targets="truth",
            extra_metrics=[
                make_metric(eval_fn=exact, greater_is_better=True, name="exact", version="v1"),
                make_metric(eval_fn=length, greater_is_better=True, name="length", version="v1"),
            ],
            evaluator_config={"default": {"log_model_explainability": False}},
        )
        made = mlflow.artifacts.download_artifacts(
            run_id=run.info.run_id, artifact_path="eval_results_table.json", dst_path=scratch
        )
    (folder / "eval_results_table.json").write_text(Path(made).read_text())
    return {"metrics": result.metrics}


def scrub(path, scratch):
    """Replace the places of this machine, which traces and stack traces hold."""
    text = path.read_text()
    for place, name in ((scratch, "scratch"), (sys.prefix, "venv"), (str(Path(__file__).parent), "recipes")):
        text = text.replace(place, name).replace(place.replace("/", r"\/"), name)
    path.write_text(re.sub(r"\\?/(home|root|tmp|work)\\?/[\w./\\-]*", "elsewhere", text))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        mlflow.set_tracking_uri(f"sqlite:///{scratch}/mlflow.db")
        mlflow.set_experiment(experiment_id=mlflow.create_experiment("rote", artifact_location=f"file://{scratch}/art"))
        totals = {"genai": genai(folder), "sheet": sheet(folder), "classic": classic(folder, scratch)}
        for path in (*folder.glob("eval_results*"), *folder.glob("sheet*")):
            scrub(path, scratch)
    (folder / "totals.json").write_text(json.dumps(totals, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
