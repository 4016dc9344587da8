"""What each tool is given: the same agent, and the least around it that the tool needs.

The agent waits for BENCH_SECONDS and says hello. With BENCH_SPREAD the wait is half to one and a half of that, by the
number of the question, so that answers do not come in bursts. With BENCH_LOG it writes down each question and each
answer, with one write that a kill cannot lose.
"""

AGENT = """\
import asyncio, os, time

SECONDS = float(os.environ.get("BENCH_SECONDS", "0"))
SPREAD = "BENCH_SPREAD" in os.environ
LOG = os.environ.get("BENCH_LOG")
FILE = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) if LOG else None


def note(what, question):
    if FILE is not None:
        os.write(FILE, f"{what} {question} {time.monotonic():.6f}\\n".encode())


def wait(question):
    return SECONDS * (0.5 + int(question[1:]) * 37 % 101 / 100) if SPREAD else SECONDS


async def answer(question):
    note("asked", question)
    if SECONDS:
        await asyncio.sleep(wait(question))
    note("answered", question)
    return "hello"
"""

AGENT_IN_JAVASCRIPT = """\
const fs = require('fs');
const SECONDS = Number(process.env.BENCH_SECONDS ?? 0);
const SPREAD = 'BENCH_SPREAD' in process.env;
const FILE = process.env.BENCH_LOG ? fs.openSync(process.env.BENCH_LOG, 'a') : null;

function note(what, question) {
  if (FILE !== null) {
    const now = Number(process.hrtime.bigint()) / 1e9;
    fs.writeSync(FILE, `${what} ${question} ${now.toFixed(6)}\\n`);
  }
}

function wait(question) {
  return SPREAD ? SECONDS * (0.5 + ((Number(question.slice(1)) * 37) % 101) / 100) : SECONDS;
}

module.exports = class {
  id() { return 'agent'; }
  async callApi(question) {
    note('asked', question);
    if (SECONDS) await new Promise((done) => setTimeout(done, 1000 * wait(question)));
    note('answered', question);
    return { output: 'hello' };
  }
};
"""

INSPECT = """\
import os

from bench_agent import answer
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import solver


@solver
def agent():
    async def solve(state, generate):
        state.output.completion = await answer(state.input_text)
        return state

    return solve


@task
def trials():
    count = int(os.environ["BENCH_TRIALS"])
    samples = [Sample(id=f"S{i}", input=f"q{i}", target="hello") for i in range(count)]
    return Task(dataset=samples, solver=agent(), scorer=includes())
"""

PYDANTIC_EVALS = """\
import os
from pathlib import Path

from bench_agent import answer
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Contains
from pydantic_evals.reporting import EvaluationReportAdapter

count = int(os.environ["BENCH_TRIALS"])
cases = [Case(name=f"S{i}", inputs=f"q{i}") for i in range(count)]
dataset = Dataset(name="trials", cases=cases, evaluators=[Contains("hello")])
report = dataset.evaluate_sync(answer, max_concurrency=20, progress=False)
Path("report.json").write_bytes(EvaluationReportAdapter.dump_json(report))
assert len(report.cases) == count and report.averages().assertions == 1
"""

DEEPEVAL = """\
import os

from bench_agent import answer
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Contains(BaseMetric):
    threshold = 1.0
    async_mode = True
    strict_mode = False
    include_reason = False
    evaluation_model = None

    def measure(self, case):
        raise NotImplementedError

    async def a_measure(self, case, *_, **__):
        case.actual_output = await answer(case.input)
        self.score = float("hello" in case.actual_output)
        self.success = self.score >= self.threshold
        self.reason = self.error = None
        return self.score

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "contains"


count = int(os.environ["BENCH_TRIALS"])
result = evaluate(
    [LLMTestCase(name=f"S{i}", input=f"q{i}", actual_output="") for i in range(count)],
    [Contains()],
    async_config=AsyncConfig(max_concurrent=20),
    cache_config=CacheConfig(write_cache="BENCH_NO_CACHE" not in os.environ),
    display_config=DisplayConfig(
        show_indicator=False, print_results=False, inspect_after_run=False, results_folder="results"
    ),
)
assert sum(one.success for one in result.test_results) == count
"""
