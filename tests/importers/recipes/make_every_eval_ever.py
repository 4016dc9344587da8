# /// script
# requires-python = ">=3.12"
# dependencies = ["every_eval_ever==0.3.0", "inspect-ai==0.3.285"]
# ///
"""Every Eval Ever samples with their aggregates, made by its own converters of Inspect AI and lm-eval logs.

    python make_every_eval_ever.py FOLDER

writes UUID_samples.jsonl and UUID.json for each run, `schemas/` (the published JSON schemas, with their license) and
`totals.json`: by run, its files, what the aggregate has for each result, and what the package's validator says. Inspect
AI's mock model answers; the lm-eval logs are those of make_lm_eval.py.
"""

import json
import os
import shutil
import sys
import tempfile
import uuid
from importlib import metadata, resources
from itertools import count
from pathlib import Path
from unittest import mock

from every_eval_ever.cli import main as every_eval_ever
from every_eval_ever.validator.validation_core import validate_file
from inspect_ai import Epochs, Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import _log, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, match, mean, scorer, stderr
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import tool

_log.format_traceback = lambda *_: ("Traceback (shortened)", "Traceback (shortened)")  # else it holds local paths
LM_EVAL = Path(__file__).resolve().parents[1] / "fixtures" / "lm_eval"
MODEL = "vllm/clerk"  # the converter refuses a provider that it does not know
NUMBERS = count(1)


def questions(many):
    return [Sample(id=f"Q-{n:02}", input=f"What is {n} + {n}?", target=str(2 * n)) for n in range(1, many + 1)]


def answer(messages, *_):
    """What the mock model says: right but for three questions; it looks up the last one."""
    number = int(next(one for one in messages if one.role == "user").text.split()[2])
    said = {3: "I do not know", 4: "half"}.get(number, str(2 * number))
    output = ModelOutput.from_content("mockllm/model", said)
    if number == 6 and messages[-1].role == "user":
        output = ModelOutput.for_tool_call("mockllm/model", "add", {"first": 6, "second": 6})
    output.usage = ModelUsage(input_tokens=20, output_tokens=number, total_tokens=20 + number)
    return output


@tool
def add():
    async def execute(first: int, second: int):
        """Add two numbers.

        Args:
            first: One of them.
            second: The other one.
        """
        return str(first + second)

    return execute


@solver
def fragile():
    """Answers, but crashes for the fifth question."""
    answering = generate()

    async def solve(state, generating):
        if state.sample_id == "Q-05":
            raise RuntimeError("the tool lost its connection")
        return await answering(state, generating)

    return solve


@scorer(metrics=[accuracy(), stderr()])
def graded():
    """C, I, and P for half a point."""

    async def score(state, target):
        said = state.output.completion
        return Score(value={"half": "P"}.get(said, "C" if said == target.text else "I"), answer=said)

    return score


@scorer(metrics=[mean()])
def stars():
    """One to five."""

    async def score(state, target):
        return Score(value=1 + int(state.sample_id[2:]) % 5)

    return score


@scorer(metrics=[accuracy()])
def fickle():
    """Right in the first epoch only, but for the first question, which is always right."""

    async def score(state, target):
        return Score(value="C" if state.sample_id == "Q-01" or state.epoch == 1 else "I")

    return score


def tasks():
    tools = [use_tools(add()), fragile()]
    yield Task(name="plain", dataset=questions(3), solver=generate(), scorer=match())
    yield Task(name="crashes", dataset=questions(6), solver=tools, scorer=graded())
    yield Task(name="opinions", dataset=questions(4), solver=generate(), scorer=[graded(), stars()])
    yield Task(name="rated", dataset=questions(4), solver=generate(), scorer=stars())
    yield Task(name="repeated", dataset=questions(2), solver=generate(), scorer=fickle(), epochs=Epochs(3, "mean"))


def logged(task, folder):
    """The log of one run, in which the mock model has the name of a model behind a provider."""
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    log = evaluate(task, model=model, log_dir=str(folder), display="none", log_level="error", fail_on_error=False)[0]
    log = read_eval_log(log.location)
    log.eval.model = MODEL
    for sample in log.samples:
        sample.total_time, sample.working_time = 3.0, 1.0  # the same in every run
    path = folder / f"{task.name}.json"
    write_eval_log(log, str(path))
    return path


def lm_eval_logs(folder):
    """The logs of make_lm_eval.py, of a model with a developer."""
    shutil.copytree(LM_EVAL, folder, ignore=shutil.ignore_patterns("picked", "totals.json"))
    (totals,) = folder.glob("results_*.json")
    document = {**json.loads(totals.read_text()), "model_name": "example/clerk"}
    for task in ("arithmetic", "broken"):  # a group, which has no samples; and a mean of NaN, which cannot be written
        del document["results"][task]
    totals.write_text(json.dumps(document))
    return folder


def converted(tool, log, work, *options):
    """The aggregates that the converter writes for a log, samples beside them."""
    data = work / "out" / log.stem / "data"
    named = ["--source_organization_name", "Example", "--evaluator_relationship", "first_party"]
    arguments = ["convert", tool, "--log_path", str(log), "--output_dir", str(data), *named, *options]
    names = (uuid.UUID(int=number << 96, version=4) for number in NUMBERS)  # the same in every run
    with mock.patch("uuid.uuid4", side_effect=names):
        failed = every_eval_ever(arguments)
    if failed:
        raise SystemExit(f"{log.name} was not converted")
    return sorted(data.rglob("*.json"))


def kept(aggregate, folder):
    """The files of one run in the folder, and what the aggregate and the validator say."""
    samples = aggregate.with_name(f"{aggregate.stem}_samples.jsonl")
    document = json.loads(aggregate.read_text())
    place = "/".join(aggregate.parts[-5:])
    both = {place: aggregate, place.replace(".json", "_samples.jsonl"): samples}
    for name, path in both.items():
        found = validate_file(
            path, repo_path=name, available_files=set(both), run_semantic_checks=True,
            read_repo_file=lambda one: both[one].read_text(),
        )  # fmt: skip
        if not found.valid:
            raise SystemExit(f"{name}: {found.errors}")
        shutil.copy(path, folder)
    results = document["evaluation_results"]
    return {
        "file": samples.name,
        "rows": document["detailed_evaluation_results"]["total_rows"],
        "scores": {one["evaluation_result_id"]: one["score_details"]["score"] for one in results},
    }


def schemas(folder):
    folder.mkdir()
    package = resources.files("every_eval_ever") / "schemas"
    for name in ("eval.schema.json", "instance_level_eval.schema.json"):
        (folder / name).write_text((package / name).read_text("utf-8"), "utf-8")
    license_file = next(one for one in metadata.files("every_eval_ever") if one.name == "LICENSE")
    (folder / "LICENSE").write_text(license_file.read_text("utf-8"), "utf-8")


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary).resolve()
        os.chdir(work)  # a log holds the git revision of the working folder
        (work / "logs").mkdir()
        for task in tasks():
            (aggregate,) = converted("inspect", logged(task, work / "logs"), work)
            found[task.name] = kept(aggregate, folder)
        for aggregate in converted("lm_eval", lm_eval_logs(work / "lm"), work, "--include_samples"):
            name = json.loads(aggregate.read_text())["evaluation_results"][0]["evaluation_name"]
            found[name.partition("/")[0]] = kept(aggregate, folder)
    schemas(folder / "schemas")
    (folder / "totals.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
