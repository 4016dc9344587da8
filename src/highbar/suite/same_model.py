"""Whether a judge is the model under test: models favor their own answers."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.suite.parts import Agent, Judge, Suite


def is_same_model(suite: Suite) -> bool:
    """Whether one of the judges is the model that the agent names.

    An agent that is a function or a command does not name its model, so False guarantees nothing.
    """
    return suite.agent is not None and is_judge_of_itself(suite.agent, suite.judges)


def is_judge_of_itself(agent: Agent, judges: Sequence[Judge]) -> bool:
    """Whether one of the judges is the model of the agent."""
    named = agent.model
    if named is None and isinstance(agent.body, dict) and isinstance(agent.body.get("model"), str):
        named = agent.body["model"]
    return named is not None and any(
        judge.model is not None and _plain(judge.model) == _plain(named) for judge in judges
    )


def _plain(model: str) -> str:
    """A model's name without the provider that routers put before it, as in `openai/some-model`."""
    return model.strip().rpartition("/")[2].casefold()
