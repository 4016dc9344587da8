"""The policy as it was at a git ref, with copies of the files that it names: what its own command there would find."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from highbar import policy as policies
from highbar.bar import regrading
from highbar.bar.merging import problems_there
from highbar.errors import InputError, Problem
from highbar.load.revision import Revision
from highbar.model import Policy, ProgressiveRule
from highbar.policy.versions import order, steps_from

_FIRST = "a change that brings the first policy is checked without --against-ref"


def named_policy(policy: str | Mapping[str, Any] | Policy | None) -> str | None:
    """The path by which a policy was named; None for one that was found, as the command at the ref would find it."""
    if isinstance(policy, Policy):
        # It was read before: where it was found may be empty by now, but a search would have come by there.
        searched = [os.path.relpath(folder / name) for folder in policies.folders() for name in policies.NAMES]
        return None if policy.file in searched else policy.file
    return policy if isinstance(policy, str) else None


def policy_path(there: Revision, policy: str | None) -> str:
    """The path of the policy in the repository at the ref: the named one, or the one that a search from here finds."""
    if policy == policies.TYPICAL:
        hint = f"name a policy file; {policies.TYPICAL} is the same at every ref of this repository"
        raise InputError(
            Problem("ref.no-policy", f"--against-ref {there.ref}: the typical thresholds are no file", hint=hint)
        )
    if policy is not None:
        return there.path(policy)
    for folder in there.folders():
        inside = [posixpath.join(folder, name) for name in policies.NAMES]
        found = [path for path in inside if there.has(path)]
        if len(found) > 1:
            raise InputError(
                Problem(
                    "policy.two-files", f"{there.ref} has two policies, {' and '.join(found)}", hint="name it: --policy"
                )
            )
        if found:
            return found[0]
    wanted = ", ".join(policies.NAMES)
    raise InputError(
        Problem(
            "ref.no-policy",
            f"--against-ref {there.ref}: no policy there, neither here nor above ({wanted})",
            hint=_FIRST,
        )
    )


def read_policy(there: Revision, path: str) -> Policy:
    """The policy as it was at the ref, with copies of the files that it names beside it."""
    inside = there.submodule(path)
    if inside is not None:  # its commits are those of another repository, which may have a bar of its own
        message = f"is in the submodule {inside}, of which {there.ref} does not hold the files"
        raise InputError(Problem("ref.submodule", message, path, hint="keep the policy outside of submodules"))
    if not there.has(path):
        names = (posixpath.join(posixpath.dirname(path), name) for name in policies.NAMES)
        other = next((name for name in names if there.has(name)), None)
        hint = _FIRST if other is None else f"{there.name(other)} is: keep it under that name until it is merged"
        raise InputError(there.missing(path, hint))
    copy = there.read(path)
    for named in policies.names_in(copy):
        beside = there.beside(path, named)
        if there.has(beside):  # if it is missing, the reader of the policy says so
            regrading.read_with_files(there, beside)
    try:
        return policies.read(copy)
    except InputError as error:
        raise problems_there(error, there) from None


def with_least_steps(before: Policy, versions: Sequence[str | None]) -> Policy:
    """The policy without the steps below those of the version that it, or else its suite, selects at the ref.

    Only the last steps are left if neither does. What else names a version, a reply of the agent above all, chooses no
    lower step.
    """
    selected = [before.agent_version] if before.agent_version else [version for version in versions if version]
    rules = (_from_steps(rule, selected) if isinstance(rule, ProgressiveRule) else rule for rule in before.rules)
    return replace(before, rules=tuple(rules))


def _from_steps(rule: ProgressiveRule, versions: Sequence[str]) -> ProgressiveRule:
    known = [version for version in versions if order(version) is not None]
    left = min((steps_from(rule, version) for version in known), key=len, default=rule.steps)
    return replace(rule, steps=left if known and len(known) == len(versions) else rule.steps[-1:])


def baseline_there(there: Revision, before: Policy, named: str | None) -> Path | None:
    """The baseline of the policy at the ref; None if that policy does not compare."""
    if not before.comparing:
        return None
    if named is None:
        return policies.baseline_file(before)
    path = there.inside(named)
    if path is None:  # the pipeline has it from elsewhere
        return Path(named)
    return there.read(path) if there.has(path) else there.folder / path


def deleted_policy(there: Revision, path: str) -> Problem:
    """The problem if a change removes the policy."""
    missing = policies.missing()
    hint = f"restore {path}, which {there.ref} has; a change that removes the policy is not judged"
    return Problem("ref.no-policy", f"--against-ref {there.ref}: {missing.message}", hint=hint)
