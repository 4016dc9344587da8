"""Programs that run inside of the other tools' environments, for `bench.gates`: runs in, what the tool says out.

Each reads one JSON document, `{"threshold": …, "runs": [[text, …], …]}` or `{"pairs": [[run, run], …]}`, from standard
input, and writes a list of `pass`, `fail` or `inconclusive`. An agent is a function that does what the run says.
"""

INSPECT = '''
"""Inspect: its own interval of the accuracy, at its default level, over samples reduced as it reduces epochs."""
import json, sys

from inspect_ai.scorer import SampleScore, Score, ci, ci_wilson

asked = json.load(sys.stdin)
interval = {"ci": ci, "ci_wilson": ci_wilson}[sys.argv[1]]()


def outcome(run):
    scores = []
    for number, trials in enumerate(run):
        scored = [letter == "p" for letter in trials if letter != "c"]  # a sample that crashed has no score
        if scored:
            value = sum(scored) / len(scored)
            scores.append(SampleScore(score=Score(value=value), sample_id=str(number)))
    found = interval(scores)
    if found["lower"] >= asked["threshold"]:
        return "pass"
    return "fail" if found["upper"] < asked["threshold"] else "inconclusive"


json.dump([outcome(run) for run in asked["runs"]], sys.stdout)
'''

INSPECT_CRASHES = '''
"""What Inspect itself makes of crashed samples: the accuracy of a run in which 10 of 20 pass and 5 crash."""
import json, sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import solver


@solver
def agent():
    async def solve(state, generate):
        if state.input_text == "c":
            raise RuntimeError("crashed")
        state.output.completion = state.input_text
        return state

    return solve


samples = [Sample(input=letter, target="p") for letter in "p" * 10 + "f" * 5 + "c" * 5]
(log,) = eval(Task(dataset=samples, solver=agent(), scorer=includes()), model="none/none", display="none",
              log_dir=sys.argv[1], fail_on_error=False)
json.dump(log.results.scores[0].metrics["accuracy"].value, sys.stdout)
'''

AGENTRIAL = '''
"""agentrial: its engine runs the agent; its suite passes by its threshold, or is compared with an earlier one."""
import functools, json, logging, sys, types

from agentrial.reporters.json_report import compare_reports, export_json
from agentrial.runner import engine
from agentrial.snapshots import compare_with_snapshot, create_snapshot
from agentrial.types import AgentInput, AgentMetadata, AgentOutput, ExpectedOutput, Suite, TestCase

logging.disable(logging.CRITICAL)
# A snapshot compares latencies too. Nothing takes time here, so that they are equal and the outcome is always the same.
engine.time = types.SimpleNamespace(time=lambda: 0.0)
# So the intervals of costs and latencies, of which no outcome depends, are always the same too: one bootstrap for each.
bootstrap = functools.cache(engine.bootstrap_confidence_interval)
engine.bootstrap_confidence_interval = lambda values: bootstrap(tuple(values))
asked = json.load(sys.stdin)


def result(run):
    letters = {str(number): iter(trials) for number, trials in enumerate(run)}

    def agent(given):
        letter = next(letters[given.query])
        if letter == "c":
            raise RuntimeError("crashed")
        return AgentOutput(output=letter, steps=[], metadata=AgentMetadata(), success=True)

    cases = [TestCase(name=name, input=AgentInput(query=name), expected=ExpectedOutput(exact_match="p"))
             for name in letters]
    suite = Suite(name="suite", agent="agent", cases=cases, trials=len(run[0]), threshold=asked.get("threshold", 0.85))
    return engine.MultiTrialEngine(trials=len(run[0]), show_progress=False).run_suite(agent, suite)


def passes_threshold(run):
    return result(run).passed


def passes_compare(before, after):
    compared = compare_reports(export_json(result(after)), export_json(result(before)))
    return not any(one["status"] == "regression" for one in compared["comparisons"])


def passes_snapshot(before, after):
    return compare_with_snapshot(result(after), create_snapshot(result(before))).overall_passed


if sys.argv[1] == "threshold":
    found = [passes_threshold(run) for run in asked["runs"]]
else:
    passes = {"compare": passes_compare, "snapshot": passes_snapshot}[sys.argv[1]]
    found = [passes(*pair) for pair in asked["pairs"]]
json.dump(["pass" if one else "fail" for one in found], sys.stdout)
'''

AGENTASSAY = '''
"""AgentAssay: its runner runs the agent, its verdict function judges all trials, its gate maps that to a decision."""
import json, logging, sys

from agentassay.core.models import AgentConfig, AssayConfig, ExecutionTrace, TestScenario
from agentassay.core.runner import TrialRunner
from agentassay.verdicts.gate import DeploymentGate, GateConfig
from agentassay.verdicts.verdict import VerdictFunction

logging.disable(logging.CRITICAL)
asked = json.load(sys.stdin)
agent_config = AgentConfig(agent_id="agent", name="agent", framework="custom", model="none", version="1")


def passed(run):
    found = []
    for number, trials in enumerate(run):
        letters = iter(trials)

        def agent(given):
            letter = next(letters)
            if letter == "c":
                raise RuntimeError("crashed")
            return ExecutionTrace(scenario_id=str(number), steps=[], input_data=given, output_data=letter,
                                  success=letter == "p", total_duration_ms=1.0, total_cost_usd=0.0, model="none",
                                  framework="custom")

        scenario = TestScenario(scenario_id=str(number), name=str(number), input_data={"query": str(number)})
        runner = TrialRunner(agent, AssayConfig(), agent_config)
        found += [one.passed for one in runner.run_trials(scenario, n=len(trials))]
    return found


if "pairs" in asked:
    judge = VerdictFunction().evaluate_regression
    verdicts = [judge(passed(before), passed(after)) for before, after in asked["pairs"]]
    gate = DeploymentGate()
else:
    verdicts = [VerdictFunction().evaluate_single(passed(run), threshold=asked["threshold"]) for run in asked["runs"]]
    gate = DeploymentGate(GateConfig(min_pass_rate=asked["threshold"]))
words = {"deploy": "pass", "block": "fail", "warn": "inconclusive", "skip": "inconclusive"}
json.dump([words[gate.evaluate_scenario(verdict)[0].value] for verdict in verdicts], sys.stdout)
'''

SIGNALTEST = '''
"""signaltest: the first version records the baseline, the second is compared with it: each case, or all together."""
import json, os, sys, tempfile

from signaltest import FAIL, INCONCLUSIVE, PASS, Case, ExactMatch, compare_scores, exit_code, run_suite

asked = json.load(sys.stdin)


def cases(run):
    def agent(letters):
        def answer():
            letter = next(letters)
            if letter == "c":
                raise RuntimeError("crashed")
            return letter

        return answer

    return [Case(str(number), run=agent(iter(trials)), expected="p", metric=ExactMatch())
            for number, trials in enumerate(run)]


def by_case(before, after):
    with tempfile.TemporaryDirectory() as folder:
        baseline = os.path.join(folder, "baseline.json")
        run_suite(cases(before), baseline, n=len(before[0]))
        results = run_suite(cases(after), baseline, n=len(after[0]))
    if exit_code(results):
        return FAIL
    return INCONCLUSIVE if any(one.status == INCONCLUSIVE for one in results.values()) else PASS


def rates(run):
    # As run_suite does, samples that crashed are left out.
    return [trials.count("p") / (len(trials) - trials.count("c")) for trials in run]


def paired(before, after):
    return compare_scores(rates(before), rates(after), paired=True).status


judge = {"run_suite": by_case, "paired": paired}[sys.argv[1]]
json.dump([judge(*pair) for pair in asked["pairs"]], sys.stdout)
'''

MAIDA = '''
"""maida: the check task_pass_rate of its policy alone, by the function that `maida run` calls for it."""
import json, sys

from maida.statistics import aggregate_outcomes

asked = json.load(sys.stdin)


def outcome(run):
    outcomes = [letter == "p" for trials in run for letter in trials]  # a process that fails is a failed trial
    return aggregate_outcomes("task_pass_rate", outcomes, pass_rate_threshold=asked["threshold"]).verdict.value


json.dump([outcome(run) for run in asked["runs"]], sys.stdout)
'''

MAIDA_AGENT = '''
"""An agent of which one trial does not call the tool that the policy requires, or crashes."""
import os

from maida import record_tool_call, trace


@trace
def agent():
    if os.environ["MAIDA_TRIAL_INDEX"] != "1":
        record_tool_call(name="answer", args={}, result={})
    elif os.environ["BENCH_TRIAL"] == "c":
        raise RuntimeError("crashed")


agent()
'''

MAIDA_POLICY = """
version: 2
trials: 40
fail_fast: false
metrics:
  required_tools: { kind: invariant, all_of: [answer] }
  task_pass_rate: { kind: statistical, direction: lower, threshold: 0.85 }
"""

PROMPTFOO_AGENT = """
module.exports = class {
  id() { return 'agent'; }
  async callApi(prompt) {
    return prompt === 'c' ? { error: 'crashed' } : { output: prompt };
  }
};
"""
