"""The results of a session and a policy → the verdict, as text and as an exit code."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest

from highbar import policy as policies
from highbar.errors import HighbarError, InputError
from highbar.model import Policy, Verdict
from highbar.model.job import Job
from highbar.report import Display, reporter

PASSED = 0
REFUSED = 2
INTERNAL = 4
EXIT: Mapping[str | None, int] = {"pass": PASSED, "fail": 1, "inconclusive": 3, None: REFUSED}


def read_policy(name: str | None) -> Policy:
    """The policy, read before the first test is run. Raises UsageError if there is none, or if it is invalid."""
    try:
        policy = policies.choose(name)
    except InputError as error:
        raise _usage_error(error) from None
    if policy.advisory:
        raise _usage_error(policies.missing())
    return policy


def _usage_error(problem: object) -> pytest.UsageError:
    return pytest.UsageError(f"--highbar-check: {problem}".replace("--policy", "--highbar-policy"))


def judge_file(file: Path, shown: str, policy: Policy, display: Display) -> tuple[int, str]:
    """Judge a results file, which messages call `shown`. Returns the exit code and the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the project's filters, which may raise errors, are meant for its tests
        try:
            verdict = _check(file, shown, policy)
            return EXIT[verdict.verdict], reporter("text")(verdict, display)
        except InputError as error:
            return REFUSED, reporter("text").refusal(error.problems, display)
        except (HighbarError, OSError) as error:
            return INTERNAL, f"{error}\n"


def _check(file: Path, shown: str, policy: Policy) -> Verdict:
    from highbar import pipeline  # the engine is loaded after the tests, if at all

    return pipeline.check(Job((str(file),), policy=policy, names={str(file): shown}))
