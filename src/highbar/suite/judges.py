"""A suite in, what is known of its judges out: what they are asked, and whether one is the model under test."""

from __future__ import annotations

from collections.abc import Iterator

from highbar.checks import statements
from highbar.suite.parts import Scenario, Suite


def statement_places(scenario: Scenario) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each check of a scenario that has statements: the keys that lead to it, and the statements."""
    for key in ("expected_behaviors", "must_not"):
        for name, behavior in getattr(scenario, key).items():
            if found := statements(behavior.check):
                yield (("behaviors", name) if behavior.source == "suite" else (key, name)), found
    if scenario.answer is not None and (found := statements(scenario.answer)):
        yield ("answer",), found


def statement_texts(suite: Suite) -> tuple[str, ...]:
    """Every statement that scenarios ask a judge about, each once."""
    found = (text for one in suite.scenarios.values() for _, texts in statement_places(one) for text in texts)
    return tuple(dict.fromkeys(found))


def judged_trials(suite: Suite) -> int:
    """The number of trials of the scenarios that have a statement."""
    return sum(one.trials for one in suite.scenarios.values() if next(statement_places(one), None) is not None)


def is_same_model(suite: Suite) -> bool:
    """Whether one of the judges is the model that the agent names: models favor their own answers.

    An agent that is a function or a command does not name its model, so False guarantees nothing.
    """
    agent = suite.agent
    if agent is None:
        return False
    named = agent.model
    if named is None and isinstance(agent.body, dict) and isinstance(agent.body.get("model"), str):
        named = agent.body["model"]
    return named is not None and any(
        judge.model is not None and _model_name(judge.model) == _model_name(named) for judge in suite.judges
    )


def _model_name(model: str) -> str:
    """A model's name without the provider that routers put before it, as in `openai/some-model`."""
    return model.strip().rpartition("/")[2].casefold()
