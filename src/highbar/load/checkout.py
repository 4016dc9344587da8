"""The commit that a run is of, from the caller, the CI system or git. What none of them says is unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.load.revision import answer_of_git, ask_git

_COMMIT = re.compile("[0-9a-f]{7,64}")
_PARENT = re.compile(rb"^parent ([0-9a-f]{40,64})$", re.MULTILINE)
_COMMITTED = re.compile(rb"^committer .* ([0-9]{1,12}) [+-][0-9]{4}$", re.MULTILINE)

_MOST_ANCESTORS = 100_000
"""Commits that git lists: more than nearly any branch has."""


class Checkout(Struct, frozen=True):
    """A commit, its branch and its parents; None if unknown.

    `changed`: whether files of the working tree differ from it; None for a commit that the caller or the CI system
    named, who answer for it. `committed`: when it was made, in UTC.
    """

    commit: str | None = None
    branch: str | None = None
    parents: tuple[str, ...] | None = None
    changed: bool | None = None
    committed: datetime | None = None


def checkout(environment: Mapping[str, str], commit: str | None = None, branch: str | None = None) -> Checkout:
    """The commit that is checked out, unless the caller gives `commit` or `branch`. Raises InputError for bad ones."""
    if commit is not None and not _COMMIT.fullmatch(commit):
        hint = "write 7 to 64 hexadecimal digits, as git rev-parse HEAD prints them"
        raise InputError(Problem("option.bad-value", f"--commit {commit!r} is not a commit", hint=hint))
    if branch is not None and (not branch.strip() or not branch.isprintable() or len(branch) > 250):
        raise InputError(Problem("option.bad-value", f"--branch {branch!r} is not the name of a branch"))
    given = commit or _commit_in_ci(environment)
    found = given or answer_of_git("rev-parse", "--verify", "HEAD^{commit}")
    if branch is None:
        # A branch that git has checked out says nothing about a commit that the caller named.
        git_branch = None if given else answer_of_git("symbolic-ref", "--quiet", "--short", "HEAD")
        branch = (None if commit else _branch_in_ci(environment)) or git_branch
    if found is None:
        return Checkout(branch=branch)
    changed = None if given else _is_changed()
    text = ask_git("cat-file", "commit", found)
    if text is None:
        return Checkout(found, branch, changed=changed)
    head = text.partition(b"\n\n")[0]
    at = _COMMITTED.search(head)
    committed = None if at is None else datetime.fromtimestamp(int(at[1]), UTC)
    # From the commit object: in a shallow clone, git log does not show the parents.
    return Checkout(found, branch, tuple(one.decode() for one in _PARENT.findall(head)), changed, committed)


def ancestors() -> frozenset[str] | None:
    """The current commit and all commits before it, as far as this clone has them; None if git does not know it."""
    found = ask_git("rev-list", f"--max-count={_MOST_ANCESTORS}", "HEAD")
    return None if found is None else frozenset(found.decode("ascii").split())


def own_commits(environment: Mapping[str, str]) -> frozenset[str]:
    """The commits that a run made here may be recorded with: the one checked out, and the one that CI names."""
    found = (answer_of_git("rev-parse", "--verify", "HEAD^{commit}"), _commit_in_ci(environment))
    return frozenset(commit for commit in found if commit is not None)


def _commit_in_ci(environment: Mapping[str, str]) -> str | None:
    found = environment.get("GITHUB_SHA") or environment.get("CI_COMMIT_SHA") or ""
    return found if _COMMIT.fullmatch(found) else None


def _branch_in_ci(environment: Mapping[str, str]) -> str | None:
    """The branch of a push, or the source branch of a pull request or a merge request."""
    if environment.get("GITHUB_SHA"):
        branch = environment.get("GITHUB_REF_NAME") if environment.get("GITHUB_REF_TYPE") == "branch" else None
        return environment.get("GITHUB_HEAD_REF") or branch or None
    return environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or environment.get("CI_COMMIT_BRANCH") or None


def _is_changed() -> bool:
    """Whether files differ from the commit. Fail closed: so they do unless git says that they do not."""
    return ask_git("diff-index", "--quiet", "HEAD", "--") is None
