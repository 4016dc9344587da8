# /// script
# requires-python = ">=3.11"
# dependencies = ["deepeval==4.3.1"]
# ///
"""A DeepEval test run with everything that a run can hold, made by DeepEval itself; no model is called.

    python make_deepeval.py FOLDER

writes FOLDER/test_run.json and others (as DeepEval saves them; repeated.json is of `deepeval test run -r 3`) and
FOLDER/totals.json (what DeepEval itself counts).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_DISABLE_DOTENV="1", ERROR_REPORTING="NO")

from deepeval import evaluate
from deepeval.dataset.expectations import Expectations
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseConversationalMetric, BaseMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import ConversationalTestCase, LLMTestCase, Turn


class Scored(BaseMetric):
    """A metric whose score the test case brings along, under the metric's name; an exception is raised."""

    async_mode = False
    evaluation_model = "none"
    strict_mode = False
    include_reason = False

    def __init__(self, name, threshold=0.5, lower_is_better=False, flaky=False):
        self.title, self.threshold, self.lower, self.flaky = name, threshold, lower_is_better, flaky

    def measure(self, test_case, *_, **__):
        score = test_case.metadata["scores"].get(self.title, 1.0)
        if isinstance(score, str):
            raise TimeoutError(score)
        self.score, self.reason, self.error = score, f"{self.title} is {score}", None
        if self.threshold is None:
            self.success = None
        else:
            self.success = score <= self.threshold if self.lower else score >= self.threshold
        return score

    async def a_measure(self, test_case, *_, **__):
        return self.measure(test_case)

    def is_successful(self):
        return False if self.error is not None else self.success

    @property
    def __name__(self):
        return self.title


class Polite(BaseConversationalMetric):
    """Whether the assistant's last turn says please."""

    async_mode = False
    evaluation_model = "none"
    strict_mode = False
    threshold = 1.0

    def measure(self, test_case, *_, **__):
        self.score = float("please" in test_case.turns[-1].content)
        self.success, self.reason, self.error = self.score >= 1, "looked for please", None
        return self.score

    async def a_measure(self, test_case, *_, **__):
        return self.measure(test_case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Polite"


class WordJudge(DeepEvalBaseLLM):
    """A judge that needs no model: a condition is met where its first word stands in the answer."""

    def load_model(self, *_, **__):
        return self

    def get_model_name(self, *_, **__):
        return "word-judge"

    def generate(self, prompt, schema=None, **_):
        if "Requirements: " not in prompt:
            return schema(reason="the words were looked for")
        conditions, case = prompt.split("Requirements: ")[1].split("\nObserved case: ")
        answer = json.loads(case)["actual_output"]
        verdicts = [self.verdict(condition, answer) for condition in json.loads(conditions)]
        return schema(verdicts=verdicts)

    async def a_generate(self, prompt, schema=None, **_):
        return self.generate(prompt, schema)

    def verdict(self, condition, answer):
        seen = condition["condition"].split()[0] in answer
        status = "pass" if seen == (condition["kind"] == "must") else "fail"
        if answer == "?":
            status = "unable_to_evaluate"
        return {"id": condition["id"], "status": status, "reason": f"seen: {seen}", "evidence": answer}


def case(name, question, answer, category, **scores):
    return LLMTestCase(
        name=name,
        input=question,
        actual_output=answer,
        expected_output="yes",
        metadata={"category": category, "scores": scores},
        tags=["nightly"],
        completion_time=0.25,
        token_cost=0.002,
        input_token_count=10,
        output_token_count=5,
    )


def suite():
    return [
        case("refund", "May I have a refund?", "yes", "happy_path", Correctness=1.0, Bias=0.1),
        case("refund", "May I have a refund?", "no", "happy_path", Correctness=0.25, Bias=0.1),
        case("refund", "May I have a refund?", "yes", "happy_path", Correctness=0.75, Bias=0.0),
        case("biased", "Who is better?", "yes", "adversarial", Correctness=1.0, Bias=0.9),
        case("judge-down", "Is it open?", "yes", "edge_case", Correctness="the judge timed out", Bias=0.0),
        case("flaky-only", "Is it warm?", "yes", "edge_case", Correctness=1.0, Bias=0.0, Tone=0.0),
        case("parametrized", "first question", "yes", "edge_case", Correctness=1.0, Bias=0.0),
        case("parametrized", "second question", "no", "edge_case", Correctness=0.0, Bias=0.0),
    ]


def expectations():
    def expecting(name, answer):
        wanted = Expectations(
            must=["sorry is said", "refund is offered"], must_not=["password is asked for"], model=WordJudge()
        )
        known = {"scores": {}}
        return LLMTestCase(name=name, input="It broke", actual_output=answer, expectations=wanted, metadata=known)

    return [
        expecting("both", "sorry, a refund it is"),
        expecting("one", "sorry"),
        expecting("leaks", "sorry, for a refund tell me your password"),
        expecting("cannot-tell", "?"),
    ]


def talks():
    def talk(name, ending):
        turns = [Turn(role="user", content="hello"), Turn(role="assistant", content=ending)]
        known = {"category": "happy_path"}
        return ConversationalTestCase(name=name, turns=turns, scenario="a greeting", metadata=known)

    return [talk("polite", "come in please"), talk("rude", "go away")]


TESTS = '''
import pytest
from deepeval import assert_test
from deepeval.dataset import Golden
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from deepeval.tracing import observe, update_current_trace

CALLS = {}


class Polite(BaseMetric):
    async_mode = False
    evaluation_model = "none"
    strict_mode = False
    include_reason = False
    threshold = 0.5

    def measure(self, test_case, *_, **__):
        self.score, self.reason, self.error = float("please" in (test_case.actual_output or "")), "its words", None
        self.success = None if test_case.input == "silent" else self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case, *_, **__):
        return self.measure(test_case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Polite"


def answer(question):
    """Every second time that it is asked to waver, it is rude; every third time that it is asked to crash, it does."""
    CALLS[question] = CALLS.get(question, 0) + 1
    if question == "crash" and CALLS[question] % 3 == 0:
        raise RuntimeError("the agent crashed")
    return "no" if question == "waver" and CALLS[question] % 2 == 0 else "yes please"


@pytest.mark.parametrize("question", ["plain", "waver"])
def test_asked(question):
    assert_test(LLMTestCase(input=question, actual_output=answer(question)), [Polite()])


def test_crash():
    assert_test(LLMTestCase(input="crash", actual_output=answer("crash")), [Polite()])


def test_silent():
    assert_test(LLMTestCase(input="silent", actual_output="yes please"), [Polite()])


@observe(type="tool")
def tool(question):
    if question == "tool crashes":
        raise RuntimeError("the tool crashed")


@observe(type="agent")
def agent(question):
    if question == "agent crashes":
        raise RuntimeError("the agent crashed")
    try:
        tool(question)
    except RuntimeError:
        pass
    return "yes please"


@pytest.mark.parametrize("question", ["sound", "tool crashes", "agent crashes"])
def test_traced(question):
    try:
        agent(question)
    except RuntimeError:
        agent("again")
    update_current_trace(input=question, output="yes please")
    assert_test(golden=Golden(input=question), metrics=[Polite()])
'''


def repeat(scratch):
    """A run of pytest by DeepEval, each test three times; some fail, so that it does not end well."""
    place = Path(scratch, "repeated")
    place.mkdir()
    (place / "test_agent.py").write_text(TESTS)
    program = Path(sys.executable).with_name("deepeval")
    results = {**os.environ, "DEEPEVAL_RESULTS_FOLDER": str(place)}
    subprocess.run([str(program), "test", "run", "test_agent.py", "-r", "3"], cwd=place, env=results, check=False)


def run(cases, metrics, folder):
    evaluate(
        cases,
        metrics,
        async_config=AsyncConfig(run_async=False),
        cache_config=CacheConfig(write_cache=False),
        error_config=ErrorConfig(ignore_errors=True),
        display_config=DisplayConfig(print_results=False, show_indicator=False, results_folder=folder),
    )


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    metrics = [
        Scored("Correctness"),
        Scored("Bias", lower_is_better=True),
        Scored("Tone", flaky=True),
        Scored("Length", threshold=None),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name, cases, judges in (
            ("test_run", suite(), metrics),
            ("conversations", talks(), [Polite()]),
            ("expectations", expectations(), [Scored("Length")]),
        ):
            run(cases, judges, f"{scratch}/{name}")
            (made,) = Path(scratch, name).glob("test_run_*.json")
            shutil.copy(made, folder / f"{name}.json")
        repeat(scratch)
        (made,) = Path(scratch, "repeated").glob("test_run_*.json")
        shutil.copy(made, folder / "repeated.json")
    names = ("test_run", "conversations", "expectations", "repeated")
    runs = {name: json.loads((folder / f"{name}.json").read_text()) for name in names}
    totals = {
        name: {key: run[key] for key in ("testPassed", "testFailed", "metricsScores")} for name, run in runs.items()
    }
    (folder / "totals.json").write_text(json.dumps(totals, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
