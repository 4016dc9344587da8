"""`read_policy`: a policy in; every rule in words out, or every problem, as `highbar lint` finds them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from highbar import policy as policies
from highbar.errors import InputError
from highbar.mcp_server.arguments import PolicyPath, ProblemAnswer, ToolAnswer, ToolArguments, brief_problem
from highbar.mcp_server.confinement import Workspace
from highbar.policy.words import say_all, say_reading


class PolicyArguments(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `read_policy`."""

    policy: PolicyPath = None


class RuleWords(Struct, frozen=True, omit_defaults=True):
    """A rule of a policy: its name, its level, and what it demands."""

    rule: str
    level: str
    demands: str
    line: int | None = None


class KeyWords(Struct, frozen=True):
    """Another key of a policy, in words."""

    key: str
    says: str


class PolicyAnswer(ToolAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """A policy in words, or its problems."""

    valid: bool
    file: str
    problems: tuple[ProblemAnswer, ...] = ()
    description: str | None = None
    rules: tuple[RuleWords, ...] = ()
    others: Annotated[
        tuple[KeyWords, ...], Meta(description="Which rows are judged, by whom, and what is quarantined.")
    ] = ()
    notes: tuple[str, ...] = ()


def answer_policy(asked: PolicyArguments, workspace: Workspace) -> PolicyAnswer:
    """Read a policy, and say every rule in words."""
    path = str(workspace.demanded_policy(asked.policy))
    try:
        policy = policies.read_named(path)
    except InputError as error:
        return PolicyAnswer(valid=False, file=path, problems=tuple(brief_problem(one) for one in error.problems))
    return PolicyAnswer(
        valid=True,
        file=path,
        description=policy.description,
        rules=tuple(RuleWords(rule.name, rule.level, sentence, rule.place.line) for rule, sentence in say_all(policy)),
        others=tuple(KeyWords(key, sentence) for key, sentence in say_reading(policy)),
        notes=policy.notes,
    )
