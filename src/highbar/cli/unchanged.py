"""The files by which a run is judged, beside its policy and suite: none of them may change while the agent runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from highbar.errors import InputError, Problem
from highbar.language.phrases import some
from highbar.model import Policy
from highbar.policy import baseline_file
from highbar.running.preparing import Prepared


def watch_files(prepared: Prepared, policy: Policy | None, baseline: str | None) -> Callable[[], None]:
    """A function that raises InputError if a file that is read only after the agent ran is not as it is now.

    Policy and suite have been read: the run is judged by them as they were. These are the files beside them.
    """
    files: list[Path] = []
    if policy is not None:
        files += [baseline_file(policy, baseline)] if policy.comparing else []
        files += [Path(policy.judge.labels)] if policy.judge is not None and policy.judge.labels is not None else []

    def found() -> list[str | None]:
        return [hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None for file in files]

    before, checks = found(), prepared.digest_of_checks()

    def refuse_changed() -> None:
        changed = [str(file) for file, now, then in zip(files, found(), before, strict=True) if now != then]
        if prepared.digest_of_checks() != checks:
            changed.append(f"a file of the checks of {prepared.plan.suite_file}")
        if changed:
            hint = "restore it; then highbar check judges the folder of the run"
            raise InputError(
                Problem(
                    "run.files-changed", f"{some(changed, 5)} changed while the agent ran: nothing is judged", hint=hint
                )
            )

    return refuse_changed
