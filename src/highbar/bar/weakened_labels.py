"""Two files of labels in, what the later one lacks out: who may take labels away can make any judge look right.

More labels are no weakening. The bar of then is judged with the labels of then, whatever became of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from highbar.language.phrases import count
from highbar.model import Policy, Weakening


def weakened_labels(before: Policy, now: Policy) -> Iterator[Weakening]:
    """What the policy `before` knew about its judge, and the policy `now` does not."""
    old, new = (None if policy.judge is None else policy.judge.labels for policy in (before, now))
    if old is None:
        return
    if new is None:
        yield Weakening("judge.labels", "removed", Path(old).name)
        return
    # Compared as they are written: a label that is said in other words is a label that somebody touched.
    earlier, later = (_lines(path) for path in (old, new))
    gone = (earlier - later).total()
    if gone:
        known = count(earlier.total(), "label")
        yield Weakening(f"judge.labels: {Path(new).name}", "changed", known, f"{gone} of them changed or removed")


def _lines(path: str) -> Counter[bytes]:
    return Counter(line.strip() for line in Path(path).read_bytes().splitlines() if line.strip())
