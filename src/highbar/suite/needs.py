"""What a run of a suite needs and does not have: an agent, a judge, variables of the environment, something to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from highbar.documents.problems import Problem as ValueProblem
from highbar.errors import Problem
from highbar.suite.parts import Scenario, Suite
from highbar.suite.reading import problems_at
from highbar.suite.tools.rewritten import origin_of


def unmet(
    suite: Suite, environment: Mapping[str, str], *, agent: bool = True, data: bytes | None = None
) -> tuple[Problem, ...]:
    """Every problem that keeps the suite from being run, with its line if the suite came from a file.

    `agent` is false if the agent is named elsewhere, as by `--agent`. `data` is what the file would hold, if there is
    none.
    """
    found = [*_settings(suite, environment, agent=agent), *_scenarios(suite)]
    if not found:
        return ()
    if suite.tool is not None:  # a test may have become several scenarios
        found = list(dict.fromkeys(replace(one, path=origin_of(one.path, suite.tool.paths)) for one in found))
    if suite.file is None:
        return tuple(Problem(problem.text, hint=problem.hint) for problem in found)
    return problems_at(suite.file, found, data).problems


def _settings(suite: Suite, environment: Mapping[str, str], *, agent: bool) -> Iterator[ValueProblem]:
    if agent and suite.agent is None:
        hint = "add an agent block, such as agent: {python: module:function}"
        if suite.tool is not None:
            hint = "name it on the command line, such as --agent python:module:function"
        yield ValueProblem((), "the suite names no agent", hint)
    for variable in suite.variables:
        if not environment.get(variable.name) and (agent or variable.path[0] != "agent"):
            hint = f"set it in the environment: export {variable.name}=…"
            yield ValueProblem(variable.path, f"${{{variable.name}}} is not set", hint)


def _scenarios(suite: Suite) -> Iterator[ValueProblem]:
    start = ("scenarios",) if not suite.is_list else ()
    used = set()
    for index, scenario in enumerate(suite.scenarios.values()):
        path = (*start, index)
        if scenario.asked is None and not scenario.messages:
            yield ValueProblem(path, "there is nothing to ask the agent", "give it an input, turns or messages")
        for inside in _judged(scenario):
            if inside[0] != "behaviors":
                yield _no_judge((*path, *inside), suite)
            elif inside not in used:
                used.add(inside)
                yield _no_judge(inside, suite)


def _no_judge(path: tuple[str | int, ...], suite: Suite) -> ValueProblem:
    why = "no judge is configured" if suite.judge is None else "this version of Highbar asks no judge yet"
    hint = "write a check such as {contains: …}"
    if suite.tool is not None:
        why, hint = "this version of Highbar asks no judge yet", "leave it out, or assert what can be checked by itself"
    return ValueProblem(path, f"this is a statement for a judge, and {why}", hint)


def _judged(scenario: Scenario) -> Iterator[tuple[str, ...]]:
    """The paths of all checks that have a statement for a judge."""
    from highbar.checks import statements  # only before a run

    for key in ("expected_behaviors", "must_not"):
        for name, behavior in getattr(scenario, key).items():
            if next(iter(statements(behavior.check)), None) is not None:
                yield ("behaviors", name) if behavior.source == "suite" else (key, name)
    if scenario.answer is not None and next(iter(statements(scenario.answer)), None) is not None:
        yield ("answer",)
