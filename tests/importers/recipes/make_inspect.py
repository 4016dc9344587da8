# /// script
# requires-python = ">=3.11"
# dependencies = ["inspect-ai==0.3.285"]
# ///
"""Inspect AI logs with everything that a log can hold, made by Inspect AI itself; its mock model answers.

    python make_inspect.py FOLDER

writes `.eval` logs packed with zstd and with deflate, in the chunked layout and as `.json`, those of inspect_odd.py,
and `totals.json`: what Inspect AI itself computes of each, and how many samples its own reader finds.
"""

import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import inspect_odd
from inspect_ai import Epochs, Task
from inspect_ai import eval as evaluate
from inspect_ai._util import zipfile as inspect_zipfile
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, _log, read_eval_log, read_eval_log_samples
from inspect_ai.log._recorders.chunked import convert_eval_logs_to_chunked
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, exact, match, mean, scorer, stderr
from inspect_ai.solver import generate, solver

_log.format_traceback = lambda *_: ("Traceback (shortened)", "Traceback (shortened)")  # else it holds local paths

CATEGORIES = ("happy_path", "edge_case", "adversarial", "regression")


def samples():
    """Twelve questions: most answers are right, some wrong, one partial; two crash and one is not graded."""
    return [
        Sample(
            id=f"Q-{number:02}",
            input=f"What is {number} + {number}?",
            target=str(2 * number),
            metadata={
                "category": CATEGORIES[number % 4],
                "cluster": f"template-{number % 3}",
                "locale": "de" if number % 2 else "en",
                "depth": number,
                "notes": {"nested": True},
            },
        )
        for number in range(1, 13)
    ]


def answer(messages, *_):
    """What the mock model says: right but for three questions."""
    number = int(messages[-1].text.split()[2])
    said = {3: "I do not know", 7: "15", 8: "half"}.get(number, str(2 * number))
    output = ModelOutput.from_content("mockllm/model", said)
    output.usage = ModelUsage(input_tokens=20, output_tokens=number, total_tokens=20 + number, total_cost=0.001)
    return output


@solver
def fragile(crashing=(5, 11)):
    """Answers, but crashes for some questions."""
    answering = generate()

    async def solve(state, generating):
        if int(state.sample_id[2:]) in crashing:
            raise RuntimeError("the tool lost its connection")
        return await answering(state, generating)

    return solve


@scorer(metrics=[accuracy(), stderr()])
def graded():
    """C, I, P, N, and nothing at all where the grader failed."""

    async def score(state, target):
        said = state.output.completion
        if state.sample_id == "Q-12":
            return Score.unscored(reason="grader_failed")
        value = {"half": "P", "I do not know": "N"}.get(said, "C" if said == target.text else "I")
        return Score(value=value, answer=said)

    return score


@scorer(metrics={"helpful": [mean()], "safe": [mean()]})
def rubric():
    """Two numbers in one score."""

    async def score(state, target):
        return Score(value={"helpful": len(state.output.completion) / 20, "safe": 1.0})

    return score


@scorer(metrics=[mean()])
def stars():
    """One to five: no share of anything."""

    async def score(state, target):
        return Score(value=1 + int(state.sample_id[2:]) % 5)

    return score


def arithmetic():
    return Task(name="arithmetic", dataset=samples(), solver=fragile(), scorer=[graded(), rubric(), stars()])


def repeated():
    return Task(name="repeated", dataset=samples()[:4], solver=fragile(()), scorer=match(), epochs=Epochs(3, "mean"))


def measured():
    return Task(name="measured", dataset=samples()[:4], solver=fragile(()), scorer=exact())


def unscored():
    return Task(name="unscored", dataset=samples()[:2], solver=fragile(()))


def run(which, folder: Path, name: str, **options) -> Path:
    """One run; the log is renamed so that it does not carry its time."""
    with tempfile.TemporaryDirectory() as temporary:
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        log = evaluate(which(), model=model, log_dir=temporary, display="none", log_level="error", **options)[0]
        target = folder / f"{name}{Path(log.location).suffix}"
        shutil.move(log.location, target)
    return target


def totals(path: Path) -> dict:
    """What Inspect AI says about a log: its status, its metrics, and how many samples its reader finds."""
    log: EvalLog = read_eval_log(str(path))
    scores = log.results.scores if log.results else []
    return {
        "status": log.status,
        "samples": sum(1 for _ in read_eval_log_samples(str(path), all_samples_required=False)),
        "errors": sum(1 for sample in log.samples or [] if sample.error),
        "metrics": {f"{one.name}.{key}": metric.value for one in scores for key, metric in one.metrics.items()},
        "scored": {one.name: one.scored_samples for one in scores},
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    os.chdir(tempfile.gettempdir())  # a log holds the git revision of the working folder
    logs = [
        run(arithmetic, folder, "crashes", fail_on_error=False),
        run(arithmetic, folder, "halted", fail_on_error=True, max_samples=1),
        run(repeated, folder, "epochs"),
        run(measured, folder, "measured"),
        run(unscored, folder, "unscored"),
        run(arithmetic, folder, "as_json", fail_on_error=False, log_format="json"),
    ]
    logs += inspect_odd.make(folder)
    convert_eval_logs_to_chunked(str(logs[0]), str(folder / "chunked"), overwrite=True)
    logs.append(shutil.move(folder / "chunked" / "crashes.eval", folder / "chunked.eval"))
    (folder / "chunked").rmdir()
    inspect_zipfile.zipfile_compress_kwargs.update(compression=zipfile.ZIP_DEFLATED, compresslevel=5)
    logs.append(run(repeated, folder, "deflate"))
    found = {Path(path).name: totals(Path(path)) for path in logs if Path(path).name != "chunked.eval"}
    found["chunked.eval"] = found["crashes.eval"]  # the same log; Inspect AI 0.3.285 cannot read this layout as a whole
    (folder / "totals.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
