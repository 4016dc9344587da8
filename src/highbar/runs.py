"""Runs that are kept: results as records of scenarios, a check's baseline, a comparison, a recorded baseline."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from highbar import policy as policies
from highbar.baseline import reading
from highbar.baseline.against import Against, Kept, hold, kept_in, scoring_of, warnings
from highbar.baseline.compare import compare
from highbar.engine.protocol import Reduction
from highbar.errors import InputError, Problem
from highbar.load.opening import Results
from highbar.model import Policy, Source
from highbar.model.comparison import Comparison, Side
from highbar.model.job import Job

_MOST_IDS = 10


def keep(policy: Policy, reduction: Reduction, results: Results) -> Kept:
    """A run that was just reduced, scenario by scenario."""
    records = reduction.records
    if records is None:
        raise ValueError("the engine was not asked for the scenarios")
    about = Side(
        results.sources(),
        is_baseline=False,
        agent_version=policy.agent_version or reduction.agent_version,
        scenarios=reduction.whole.scenarios,
        trials=reduction.whole.trials,
        judged_by=results.judged_by,
        selection=reduction.selection,
    )
    return Kept(
        records.scenarios,
        about,
        scoring_of(policy, results.judged_by),
        records.judges,
        records.suites,
        suite_source(policy),
        records.best,
    )


def compared(policy: Policy, against: object, slices: Sequence[str]) -> Comparison | None:
    """Everything that changed since the baseline that a run was held against, for a report that shows it."""
    return compare(policy, against.base, against.head, slices=slices) if isinstance(against, Against) else None


def suite_source(policy: Policy) -> Source | None:
    """The suite's file and the digest of its bytes."""
    if policy.suite is None:
        return None
    digest = None
    with suppress(OSError):  # a policy that was read from elsewhere: its suite has no file any more
        digest = hashlib.sha256(Path(policy.suite.file).read_bytes()).hexdigest()
    return Source(policy.suite.file, digest)


def since_baseline(job: Job, policy: Policy, head: Kept | None) -> tuple[Against | None, tuple[str, ...]]:
    """What changed since the baseline, and the warnings about it. None if no rule compares or no file exists."""
    file, allow = job.baseline, job.allow_missing_baseline
    if head is None or not policy.compares:
        if file is not None:
            hint = "baseline: { file: baseline.json, margin: { accuracy: 1% } } in the policy; or highbar compare"
            raise InputError(Problem("--baseline: no rule of the policy compares with a baseline", hint=hint))
        return None, ()
    path = policies.baseline_file(policy, file)
    if not path.exists():
        if file is not None and not allow:
            raise InputError(Problem("no such baseline", file=file, hint="highbar baseline record writes one"))
        return None, (f"there is no baseline at {path}: nothing was compared",) if allow else ()
    base = kept_in(reading.read(path))
    found = hold(policy, base, head)
    best = hold(policy, base, head.at_best()) if head.best else None
    return replace(found, best=best), (*warnings(found), *_changes(found))


def _changes(against: Against) -> tuple[str, ...]:
    """Which scenarios changed since the baseline, in one line; nothing where none did."""
    broken, fixed = (against.best or against).pairs.broken, against.pairs.fixed
    told = [f"{len(broken)} broke: {_some(broken)}"] if broken else []
    told += [f"{len(fixed)} were fixed: {_some(fixed)}"] if fixed else []
    return (f"since the baseline, of {len(against.pairs.base)} scenarios {'; '.join(told)}",) if told else ()


def _some(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:_MOST_IDS]) + (", …" if len(ids) > _MOST_IDS else "")
