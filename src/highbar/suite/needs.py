"""What a run of a suite needs and lacks: an agent, a judge, environment variables, something to ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from highbar.documents.problems import ValueProblem
from highbar.errors import Problem
from highbar.suite.parts import Suite
from highbar.suite.reading import problems_at

_ON_THE_COMMAND_LINE = "--judge 'openai:MODEL@https://host/v1'"
_JUDGE_BLOCK = "judge: {model: MODEL, base_url: 'https://host/v1', key: '${JUDGE_KEY}'}"


def unmet_needs(
    suite: Suite,
    environment: Mapping[str, str],
    *,
    agent: bool = True,
    judge: bool = True,
    data: bytes | None = None,
) -> tuple[Problem, ...]:
    """All problems that keep the suite from being run, with their lines if the suite came from a file.

    `agent` and `judge` are false if they are named elsewhere, for example by `--agent` and `--judge`. `data` is the
    content of the file, if it does not exist on disk.
    """
    elsewhere = {*(() if agent else ("agent",)), *(() if judge else ("judge", "judges"))}
    found = [*_settings(suite, environment, elsewhere), *_scenarios(suite, is_judged=not judge or bool(suite.judges))]
    if not found:
        return ()
    if suite.rewritten is not None:  # one test may have become several scenarios with the same problem
        found = list(dict.fromkeys(replace(one, path=suite.rewritten.origin(one.path)) for one in found))
    if suite.file is None:
        return tuple(Problem(problem.code, problem.text, hint=problem.hint) for problem in found)
    return problems_at(suite.file, found, data).problems


def _settings(suite: Suite, environment: Mapping[str, str], elsewhere: Collection[str]) -> Iterator[ValueProblem]:
    if "agent" not in elsewhere and suite.agent is None:
        hint = "add an agent block, such as agent: {python: module:function}"
        if suite.rewritten is not None:
            hint = "name it on the command line, such as --agent python:module:function"
        yield ValueProblem("agent.missing", (), "the suite names no agent", hint)
    for variable in suite.variables:
        if not environment.get(variable.name) and variable.path[0] not in elsewhere:
            hint = f"set it in the environment: export {variable.name}=…"
            yield ValueProblem("agent.variable-not-set", variable.path, f"${{{variable.name}}} is not set", hint)
    if suite.canaries and not suite.judges and "judge" not in elsewhere:
        yield ValueProblem(
            "judge.missing", ("canaries",), "canaries test a judge, and no judge is configured", _judge_hint(suite)
        )


def _scenarios(suite: Suite, *, is_judged: bool) -> Iterator[ValueProblem]:
    from highbar.suite.judges import statement_places  # it needs the checks, which take 40 ms to load

    start = ("scenarios",) if not suite.is_list else ()
    used = set()
    for index, scenario in enumerate(suite.scenarios.values()):
        path = (*start, index)
        if scenario.asked is None and not scenario.messages:
            yield ValueProblem(
                "suite.no-question", path, "there is nothing to ask the agent", "give it an input, turns or messages"
            )
        for inside, _ in statement_places(scenario) if not is_judged else ():
            where = inside if inside[0] == "behaviors" else (*path, *inside)
            if where not in used:
                used.add(where)
                yield ValueProblem(
                    "judge.missing",
                    where,
                    "this is a statement for a judge, and no judge is configured",
                    _judge_hint(suite),
                )


def _judge_hint(suite: Suite) -> str:
    if suite.rewritten is not None or suite.is_list:
        return f"name one on the command line: {_ON_THE_COMMAND_LINE}"
    return f"add {_JUDGE_BLOCK}, or write a check such as {{contains: …}}"
