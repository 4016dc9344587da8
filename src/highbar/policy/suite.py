"""Reads the suite that a policy names: the scenarios that must all have a result."""

from __future__ import annotations

from pathlib import Path

from highbar.errors import InputError
from highbar.model import Policy, SuiteDemands
from highbar.policy.cursor import Cursor


def read_suite(cursor: Cursor, folder: Path, settings: Policy) -> SuiteDemands | None:
    """The suite that the policy names, a file relative to `folder`: the columns that it fixes for each scenario."""
    if cursor.is_kind("list"):
        cursor.refuse_kind("the name of a file", "put the list into a file: suite: scenarios.yaml")
        return None
    name = cursor.text()
    if name is None:
        return None
    from highbar.suite import read_fixed  # most policies have none

    path = folder / name
    try:
        fixed = read_fixed(path, settings.allow_columns, settings.allow_categories)
    except InputError as error:
        cursor.problems.extend(error.problems)
        return None
    return SuiteDemands(str(path), fixed.scenarios, fixed.texts, fixed.elsewhere, fixed.trials)
