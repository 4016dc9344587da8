"""Tasks for make_inspect.py whose logs are out of the ordinary: odd scorers, limits, roles, early stops, retries."""

import asyncio
import itertools
import shutil
import tempfile
import time
from pathlib import Path

from inspect_ai import Epochs, Task, eval_set
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import ProvenanceData, invalidate_samples, read_eval_log, write_eval_log, write_log_dir_manifest
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, match, mean, metric, model_graded_qa, scorer
from inspect_ai.solver import generate, solver
from inspect_ai.util import EarlyStop


def samples(number=4):
    """Sums, each with the category that its place gives it; the mock model answers all of them right."""
    categories = ("happy_path", "adversarial")
    return [
        Sample(id=f"S-{n}", input=f"What is {n} + {n}?", target=str(2 * n), metadata={"category": categories[n % 2]})
        for n in range(1, number + 1)
    ]


def right(messages, *_):
    """The sum, or what a grader says: right, unless the answer is 8."""
    text = messages[-1].text
    if "GRADE" in text:
        return _said("GRADE: I" if "[Submission]: 8" in text else "GRADE: C", 100)
    return _said(str(2 * int(text.split()[2])), 10)


def _said(text, tokens):
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1)
    return output


def model(answers=right):
    return get_model("mockllm/model", custom_outputs=answers, memoize=False)


def _value(values):
    """A scorer that gives each sample the value that stands in its place."""

    async def score(state, target):
        return Score(value=values[int(state.sample_id[2:]) - 1], answer=state.output.completion)

    return score


@scorer(metrics=[accuracy()])
def zero_one():
    return _value([1, 0.5, "maybe", 1])


@scorer(metrics=[mean()])
def flag():
    return _value([0, 0, 0, 1])


@metric
def commonest():
    def compute(scores):
        return float(len(scores))

    return compute


@scorer(metrics=[commonest()])
def topic():
    return _value(["N", "I", "sums", "C"])


@scorer(metrics=[accuracy()])
def verdict():
    return _value(["C", "C", "C", "C"])


@scorer(name="Verdict", metrics=[accuracy()])
def capital_verdict():
    return _value(["C", "I", "C", "C"])


@scorer(metrics={"*": [accuracy()]})
def checks():
    return _value([{"polite": True, "safe": n != 2} for n in range(1, 5)])


@scorer(metrics={"polite": [mean()], "safe": [mean()]})
def opinions():
    return _value([{"polite": True, "safe": n != 2} for n in range(1, 5)])


@solver
def slow():
    """Answers; the second sample then sleeps past its limit of time, the third talks past that of messages."""

    async def solve(state, generating):
        state = await generating(state)
        if state.sample_id == "S-2":
            await asyncio.sleep(30)
        for _ in range(10 if state.sample_id == "S-3" else 0):
            state.messages.append(state.messages[-1])
            state.messages.append(state.messages[0])
            state = await generating(state)
        return state

    return solve


@solver
def crashing_once(tries=None):
    """Answers; one sample crashes when it is tried for the first time."""
    count = tries or itertools.count()
    answering = generate()

    async def solve(state, generating):
        if state.sample_id == "S-3" and next(count) == 0:
            raise RuntimeError("the tool lost its connection")
        return await answering(state, generating)

    return solve


@solver
def crashing_late():
    """Answers, and then crashes at one sample: what it said can be scored all the same."""
    answering = generate()

    async def solve(state, generating):
        state = await answering(state, generating)
        if state.sample_id == "S-2":
            raise RuntimeError("the tool lost its connection")
        return state

    return solve


class Enough:
    """Stops after the first of two epochs of one sample."""

    async def start_task(self, task, samples, epochs):  # noqa: ARG002 - Inspect AI calls it so
        return "enough"

    async def schedule_sample(self, id, epoch):  # noqa: A002 - likewise
        return EarlyStop(id=id, epoch=epoch, reason="known") if (id, epoch) == ("S-2", 2) else None

    async def complete_sample(self, id, epoch, scores):  # noqa: A002, ARG002 - likewise
        return None

    async def complete_task(self):
        return {}


def _task(name, scorers, **options):
    return Task(name=name, dataset=samples(), solver=options.pop("solver", generate()), scorer=scorers, **options)


def run(task, target: Path, **options) -> Path:
    """One run, its log at `target`."""
    with tempfile.TemporaryDirectory() as temporary:
        asked = {"model": model(), **options}
        log = evaluate(task, log_dir=temporary, display="none", log_level="error", **asked)[0]
        shutil.move(log.location, target)
    return target


def make(folder: Path) -> list[Path]:
    """All of the logs, and the folders of retries, of an eval set and of two models."""
    logs = [
        run(_task("odd", [zero_one(), flag()]), folder / "odd_values.eval"),
        run(_task("measured_only", [flag(), topic()]), folder / "no_judge.eval"),
        run(_task("labels", [match(), topic(), flag()]), folder / "labels.eval"),
        run(_task("cases", [verdict(), capital_verdict()]), folder / "cases.eval"),
        run(_task("twice", [match(), match(location="begin")]), folder / "twice.eval"),
        run(_task("flags", [checks()]), folder / "flags.eval"),
        run(_task("opinions", [opinions()]), folder / "opinions.eval"),
        run(_task("limits", [match()], solver=slow(), message_limit=4, time_limit=3), folder / "limits.eval"),
        run(
            _task("late", [match()], solver=crashing_late()),
            folder / "scored_crash.eval",
            fail_on_error=False,
            score_on_error=True,
        ),
        run(
            _task("graded_by_model", [model_graded_qa()]),
            folder / "roles.eval",
            max_samples=1,
            model_roles={"grader": model(_slowly)},
        ),
        run(_task("stopped", [match()], epochs=Epochs(2), early_stopping=Enough()), folder / "stopped.eval"),
        _invalidated(folder),
    ]
    _retried(folder / "retried")
    _of_two_models(folder / "models")
    return logs


def _slowly(messages, *rest):
    """A grader that takes its time."""
    time.sleep(0.5)
    return right(messages, *rest)


def _invalidated(folder: Path) -> Path:
    path = run(_task("invalidated", [match()]), folder / "invalidated.eval")
    log = read_eval_log(str(path))
    chosen = [log.samples[1].uuid]
    log = invalidate_samples(log, chosen, ProvenanceData(author="reviewer", reason="wrong question"))
    write_eval_log(log, str(path))
    return path


def _retried(folder: Path) -> None:
    """An eval set in which one task failed at first: its folder holds both logs and what says which there are."""
    folder.mkdir(parents=True)
    tasks = [
        _task("fragile", [match()], solver=crashing_once(itertools.count())),
        _task("sound", [match()]),
    ]
    eval_set(
        tasks,
        log_dir=str(folder),
        model=model(),
        retry_attempts=2,
        retry_wait=1,
        retry_cleanup=False,
        retry_immediate=False,
        fail_on_error=True,
        max_samples=1,
        display="none",
        log_level="error",
    )
    write_log_dir_manifest(str(folder))
    (folder / ".eval-set-id").unlink()


def _of_two_models(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        agent = get_model(f"mockllm/{name}", custom_outputs=right, memoize=False)
        run(_task("shared", [match()]), folder / f"{name}.eval", model=agent)
