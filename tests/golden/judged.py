"""The verdict on a golden case, judged once for all tests of it."""

from __future__ import annotations

import functools
import os
from itertools import pairwise
from pathlib import Path

import pytest

from highbar import pipeline
from highbar.errors import InputError
from highbar.model import Verdict
from highbar.model.job import Job
from tests.golden.test_golden import CASES, arguments

EACH = [pytest.param(case, marks=pytest.mark.xdist_group(case.name), id=case.name) for case in CASES]
"""The cases, for `parametrize`: all tests of a case run in one worker."""


def judge(case: Path) -> Verdict | None:
    """Judge the case in its folder by its own arguments; None if it is refused."""
    _, results, *options = arguments(case)
    given = dict(pairwise(options))
    job = Job((results,), policy=given.get("--policy"), agent_version=given.get("--agent-version"))
    before = Path.cwd()
    os.chdir(case)
    try:
        return pipeline.check(job)
    except InputError:
        return None
    finally:
        os.chdir(before)


verdict_of = functools.cache(judge)
