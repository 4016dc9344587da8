# /// script
# requires-python = ">=3.11"
# dependencies = ["lm-eval==0.4.13"]
# ///
"""lm-evaluation-harness samples with filters, repeats and a group, made by the harness itself; no model is loaded.

    python make_lm_eval.py FOLDER

writes samples_TASK_DATE.jsonl for each task, results_DATE.json, and `totals.json`: what the harness itself computes.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

DOCUMENTS = [
    {
        "question": f"{n} + {n}",
        "answer": str(2 * n),
        "subject": "sums" if n % 2 else "doubles",
        "options": [str(2 * n + 1), str(2 * n)],
    }
    for n in range(1, 9)
]

WORDS = """
task: words
dataset_path: json
dataset_kwargs: {data_files: {test: documents.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}} ="
doc_to_target: "{{answer}}"
repeats: 3
generation_kwargs: {until: ["\\n"], do_sample: true, temperature: 0.5}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
filter_list:
  - name: strict-match
    filter: [{function: regex, regex_pattern: "#### (\\\\d+)"}, {function: take_first}]
  - name: flexible-extract
    filter: [{function: regex, regex_pattern: "(\\\\d+)"}, {function: take_first}]
"""

CHOICES = """
task: choices
dataset_path: json
dataset_kwargs: {data_files: {test: documents.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}} ="
doc_to_choice: options
doc_to_target: 1
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
"""

SUMS = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: documents.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}} ="
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
filter_list:
  - name: digits
    filter: [{function: regex, regex_pattern: "(\\\\d+)"}, {function: take_first}]
"""

BROKEN = SUMS.replace("task: sums", "task: broken") + "process_results: !function broken.process_results\n"
BROKEN_CODE = """
def process_results(doc, results):
    # A metric that has no number for one document, and says nothing at all of another.
    right = {"exact_match": float(results[0] == doc["answer"])}
    return {"5": {"exact_match": float("nan")}, "6": {}}.get(doc["question"].split()[0], right)
"""

GROUP = """
group: arithmetic
task: [words, choices]
aggregate_metric_list:
  - {metric: acc, aggregation: mean, weight_by_size: true}
"""


class Clerk(LM):
    """Adds, but forgets the marks for odd numbers, is wrong at 3 and cannot answer 7."""

    def generate_until(self, requests, disable_tqdm=False):  # noqa: ARG002 - the harness calls it so
        return [self._said(request.args[0]) for request in requests]

    def _said(self, prompt):
        number = int(prompt.split()[0])
        if number == 7:
            return "I cannot say"
        said = 2 * number + (number == 3)
        return f"#### {said}" if number % 2 == 0 else f"It is {said}."

    def loglikelihood(self, requests, disable_tqdm=False):  # noqa: ARG002 - likewise
        return [(-1.0 if self._likely(*request.args) else -3.0, False) for request in requests]

    def _likely(self, prompt, continuation):
        number = int(prompt.split()[0])
        return (int(continuation) == 2 * number) != (number in (3, 7))

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


DATE = "2026-01-01T00-00-00.000000"
KEPT = ("results", "group_subtasks", "versions", "n-shot", "higher_is_better", "n-samples", "task_hashes", "model_name")
"""The members of the results that say nothing about the machine."""


def evaluated(tasks: list[str], folder: Path, **options) -> dict:
    """One run as the command line makes it: its samples and its results in the folder, and the results."""
    with tempfile.TemporaryDirectory() as temporary:
        tracker = EvaluationTracker(output_path=f"{temporary}/results.json")
        tracker.general_config_tracker.model_name = "clerk"
        found = simple_evaluate(
            model=Clerk(),
            tasks=tasks,
            task_manager=TaskManager(include_path=str(Path.cwd()), include_defaults=False),
            log_samples=True,
            evaluation_tracker=tracker,
            bootstrap_iters=0,
            **options,
        )
        samples = found.pop("samples")
        tracker.general_config_tracker.model_name = "clerk"
        tracker.save_results_aggregated(results=found, samples=samples)
        for task, rows in samples.items():
            tracker.save_results_samples(task_name=task, samples=rows)
        folder.mkdir(parents=True, exist_ok=True)
        for path in Path(temporary).glob("samples_*.jsonl"):
            shutil.copyfile(path, folder / path.name.replace(tracker.date_id, DATE))
        (written,) = Path(temporary).glob("results_*.json")
        whole = json.loads(written.read_text())
        kept = {key: whole[key] for key in KEPT}
        (folder / f"results_{DATE}.json").write_text(json.dumps(kept, indent=2) + "\n")
    return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        Path("documents.jsonl").write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
        tasks = (("words", WORDS), ("choices", CHOICES), ("sums", SUMS), ("broken", BROKEN), ("arithmetic", GROUP))
        for name, text in tasks:
            Path(f"{name}.yaml").write_text(text)
        Path("broken.py").write_text(BROKEN_CODE)
        found = evaluated(["arithmetic", "sums", "broken"], folder)
        picked = evaluated(["sums"], folder / "picked", samples={"sums": [0, 2, 5]})
        results = found["results"].items()
        totals = {task: {key: value for key, value in one.items() if "," in key} for task, one in results}
        totals["n-samples"] = found["n-samples"]
        totals["picked"] = picked["n-samples"]
        (folder / "totals.json").write_text(json.dumps(totals, indent=1, sort_keys=True, default=str) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
