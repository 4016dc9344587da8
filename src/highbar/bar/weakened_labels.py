"""Labels that a later file no longer has: whoever can remove labels can make any judge look right.

More labels are no weakening. The policy at the ref is judged with the labels at the ref in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from highbar.language.phrases import count
from highbar.model import Policy, Weakening


def weakened_labels(before: Policy, now: Policy) -> Iterator[Weakening]:
    """The labels that the policy `before` had, and the policy `now` does not."""
    old, new = (None if policy.judge is None else policy.judge.labels for policy in (before, now))
    if old is None:
        return
    if new is None:
        yield Weakening("judge.labels", "removed", Path(old).name)
        return
    # Compares whole lines: a label that is written differently is a label that somebody changed.
    earlier, later = (_lines(path) for path in (old, new))
    gone = (earlier - later).total()
    if gone:
        known = count(earlier.total(), "label")
        yield Weakening(f"judge.labels: {Path(new).name}", "changed", known, f"{gone} of them changed or removed")


def _lines(path: str) -> Counter[bytes]:
    return Counter(line.strip() for line in Path(path).read_bytes().splitlines() if line.strip())
