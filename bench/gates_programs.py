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
"""agentrial: its engine runs the agent, and its suite passes or fails by its threshold."""
import json, logging, sys

from agentrial.runner.engine import MultiTrialEngine
from agentrial.reporters.json_report import compare_reports, export_json
from agentrial.types import AgentInput, AgentMetadata, AgentOutput, ExpectedOutput, Suite, TestCase

logging.disable(logging.CRITICAL)
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
    return MultiTrialEngine(trials=len(run[0]), show_progress=False).run_suite(agent, suite)


def changed(before, after):
    compared = compare_reports(export_json(result(after)), export_json(result(before)))
    return "fail" if any(one["status"] == "regression" for one in compared["comparisons"]) else "pass"


if "pairs" in asked:
    found = [changed(*pair) for pair in asked["pairs"]]
else:
    found = ["pass" if result(run).passed else "fail" for run in asked["runs"]]
json.dump(found, sys.stdout)
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
"""signaltest: the first version records the baseline, the second is compared with it, case by case."""
import json, os, sys, tempfile

from signaltest import Case, ExactMatch, exit_code, run_suite
from signaltest.stats.gate import INCONCLUSIVE

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


def changed(before, after):
    with tempfile.TemporaryDirectory() as folder:
        baseline = os.path.join(folder, "baseline.json")
        run_suite(cases(before), baseline, n=len(before[0]))
        results = run_suite(cases(after), baseline, n=len(after[0]))
    if exit_code(results):
        return "fail"
    verdicts = results.values() if isinstance(results, dict) else [getattr(one, "verdict", one) for one in results]
    return "inconclusive" if any(one.status == INCONCLUSIVE for one in verdicts) else "pass"


json.dump([changed(*pair) for pair in asked["pairs"]], sys.stdout)
'''

PROMPTFOO_AGENT = """
module.exports = class {
  id() { return 'agent'; }
  async callApi(prompt) {
    return prompt === 'c' ? { error: 'crashed' } : { output: prompt };
  }
};
"""
