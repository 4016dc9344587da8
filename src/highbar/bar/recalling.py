"""The earlier trials of a run's scenarios, from the history of a policy: with the same text, judged and scored alike.

Against a git ref, only runs of ancestors of the merge base count, from records that the change did not touch, so that
no change can excuse a failure of its own. Otherwise, runs of ancestors of the checked-out commit count, or without git
those of the last run's branch.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from highbar import history as histories
from highbar.bar.run_records import agent_of, begun_of, commits_of, judge_digest, scoring_digest, texts_of
from highbar.changes.scored_run import ScoredRun
from highbar.errors import InputError
from highbar.history.choosing import OTHER_BRANCHES, ChosenRuns, CommitLine, comparable
from highbar.history.drift import MOST_RUNS
from highbar.history.excusing import AGENT_NOT_NAMED, JudgedRun, excusing_runs, is_agent_ambiguous
from highbar.history.order import by_ancestry
from highbar.history.pooling import CountsByKey, counts_by_run
from highbar.language.phrases import count
from highbar.load.ancestry import ancestors_of_merge_base, commits_here, folder_as_there, is_shallow
from highbar.load.checkout import ancestors, checkout, own_commits
from highbar.load.revision import Revision
from highbar.model import Policy
from highbar.model.history import NOBODY, RunRecord
from highbar.model.job import Job
from highbar.model.recall import Recalled, Trials

_REPAIRS = {
    "of which only the verdict is known": "; add their results to the history",
    "of which the commit is not known": "; add them with --commit",
    "of commits that this clone does not have": "; fetch its whole past (fetch-depth: 0)",
}
"""What to do about runs with an unknown fact."""


def recall_trials(
    job: Job, there: Revision | None, policy: Policy, run: ScoredRun, texts: Mapping[str, str]
) -> Recalled:
    """The earlier trials of a run's scenarios; `texts` are the digests from the rows.

    If the history cannot be read, `problem` says why, and nothing else is known.
    """
    try:
        return _recall(job, there, policy, run, texts_of(job, policy) or texts)
    except InputError as error:
        first = error.problems[0]
        message = first.message + (f"; {first.hint}" if first.hint else "")
        return Recalled(problem=message if there is None else there.renamed(message))


def _recall(job: Job, there: Revision | None, policy: Policy, run: ScoredRun, texts: Mapping[str, str]) -> Recalled:
    history = histories.read_history(_folder(there, policy.recalls or ""))
    line: frozenset[str] | None = None
    if there is not None:
        ancestry = ancestors_of_merge_base(there)
        if ancestry.problem is not None:
            return Recalled(problem=ancestry.problem)
        line = frozenset(ancestry.commits)
    else:
        line = ancestors()
    judged = _judged_run(job, line, policy, run)
    # A record of this same run, added before it was resumed, is not an earlier run.
    earlier = [one for one in _earlier(history.runs, judged.results) if one.begun is None or one.begun != judged.begun]
    alike = [one for one in earlier if _is_comparable(one, policy, run)]
    runs = [one for one in alike if one.agent_name == judged.agent[0]]
    chosen = comparable(runs, _commit_line(line, there, runs), MOST_RUNS, changed=there is None, any_suite=True)
    read, damaged = counts_by_run(history.folder, chosen.runs)
    trials = {one.record: _with_texts(counts, texts) for one, counts in read}
    # Runs that may be of another agent excuse nothing, but still count for drift.
    ambiguous = is_agent_ambiguous(alike, judged.agent)
    return Recalled(
        runs=tuple(trials.values()),
        excusing=()
        if ambiguous
        else tuple(trials[one.record] for one in excusing_runs([one for one, _ in read], judged)),
        is_agent_known=judged.agent != NOBODY,
        no_excuse=f"the history {AGENT_NOT_NAMED}" if ambiguous else "",
        damaged=tuple(one.file for one in (*history.damaged, *damaged)),
        maybe_missing=(
            *_missing_runs(earlier, runs, chosen, is_line_known=line is not None),
            *_missing_names(alike, judged.agent[0]),
            *_missing_texts(run, texts, [counts for _, counts in read]),
        ),
    )


def _with_texts(found: CountsByKey, texts: Mapping[str, str]) -> Mapping[str, Trials]:
    """The trials of the scenarios whose text is the same as now."""
    return {
        id_: (one.passed, one.passed + one.failed)
        for (id_, digest, _), one in found.items()
        if digest is not None and texts.get(id_) == digest
    }


def _judged_run(job: Job, line: frozenset[str] | None, policy: Policy, run: ScoredRun) -> JudgedRun:
    return JudgedRun(
        commits=None if line is None else own_commits(os.environ) | commits_of(job),
        agent=agent_of(job, policy),
        scoring=scoring_digest(policy, run.scoring),
        judge=judge_digest(run),
        results=frozenset(source.sha256 for source in run.about.sources),
        begun=begun_of(job),
    )


def _earlier(runs: Sequence[RunRecord], own: Collection[str | None]) -> list[RunRecord]:
    """The runs before the one that is judged, without it and its parts if the history has them."""
    ordered = by_ancestry(runs)
    same = [place for place, one in enumerate(ordered) if None not in own and set(one.results) == set(own)]
    before = ordered[: same[-1]] if same else ordered
    return [one for one in before if not _is_part(own, one.results) and not _is_part(one.results, own)]


def _is_part(some: Collection[str | None], of: Collection[str | None]) -> bool:
    return bool(some) and None not in some and set(some) <= set(of)


def _commit_line(line: frozenset[str] | None, there: Revision | None, runs: Sequence[RunRecord]) -> CommitLine | None:
    """The line of commits, with what the clone knows about the runs' other commits."""
    if line is None:
        return None
    others = {one.commit for one in runs if one.commit is not None} - line
    if not others and all(one.commit is not None for one in runs):
        return CommitLine(line)
    branch = checkout(os.environ).branch if there is None else there.ref.rpartition("/")[2]
    return CommitLine(line, branch, commits_here(others), is_shallow())


def _missing_runs(
    earlier: Sequence[RunRecord], alike: Sequence[RunRecord], chosen: ChosenRuns, *, is_line_known: bool
) -> tuple[str, ...]:
    if not earlier:
        return ("there is no earlier run yet; --history DIR adds this one, for the next to be compared with",)
    found = tuple(
        f"{count(number, 'run')} {reason}{_REPAIRS.get(reason, '')}" for reason, number in chosen.maybe_missing
    )
    if not is_line_known and OTHER_BRANCHES in dict(chosen.left_out):
        found += ("runs of several branches, and git does not say which one this run is of",)
    if alike and not chosen.runs and not found:
        return (f"no earlier run is of this line of commits: {chosen.in_words}",)
    return found


def _missing_names(alike: Sequence[RunRecord], name: str | None) -> tuple[str, ...]:
    """A reason if runs may be of this agent, but only they, or only this run, name one."""
    found = sum((one.agent_name is None) != (name is None) for one in alike)
    if not found:
        return ()
    fault = "say their agent, and this one does not" if name is None else "do not say their agent"
    return (f"{count(found, 'run')} that {fault}; name it with --agent, or with agent in the policy",)


def _missing_texts(run: ScoredRun, texts: Mapping[str, str], found: Sequence[CountsByKey]) -> tuple[str, ...]:
    """A reason if scenarios are in earlier runs too, but one of their texts is unknown: it may be the same."""
    here = {one.id for one in run.records}
    before = {id_ for by_key in found for id_, _, _ in by_key}
    bare = {id_ for by_key in found for id_, digest, _ in by_key if digest is None}
    unknown = {id_ for id_ in here & before if id_ in bare or id_ not in texts}
    if not unknown:
        return ()
    return (f"{count(len(unknown), 'scenario')} of which a text is not known; give rows an input, or name the suite",)


def _folder(there: Revision | None, named: str) -> Path:
    """The folder that a policy names, or the copy of it as it was at the ref."""
    if there is None:
        return Path(named)
    # A path in the copied policy is relative to the policy's own place, never to the temporary folder.
    is_of_copy = named.startswith(f"{there.folder}{os.sep}")
    here = there.root / os.path.relpath(named, there.folder) if is_of_copy else Path(named)
    return folder_as_there(there, here.absolute())


def _is_comparable(one: RunRecord, policy: Policy, run: ScoredRun) -> bool:
    """Whether the run was scored and judged like this one, or may have been: an unknown digest counts as equal."""
    known = (scoring_digest(policy, run.scoring), judge_digest(run))
    return all(part in (None, own) for part, own in zip((one.scoring, one.judge), known, strict=True))
