"""Labels that do not say which conversation they are about → the same labels, assigned to trials of some results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from highbar.labeling.rows import JudgedRow, rows_to_label
from highbar.model import ResultsFile
from highbar.model.judgments import Label
from highbar.store.label_form import GIVEN
from highbar.store.labels import Labels, line_of, parse_labels, run_digest

_Key = tuple[str, int]


class BoundLabels(Struct, frozen=True):
    """The labels that are about judged trials.

    `taken` counts those that did not name a conversation; `unused` says why other labels could not be assigned.
    """

    labels: Labels
    taken: int
    unused: tuple[str, ...]

    @property
    def text(self) -> str:
        """All labels as the text of a file."""
        return "".join(map(line_of, self.labels.lines))


def bind(labels: Labels, files: Sequence[ResultsFile]) -> BoundLabels:
    """Assign labels without a sample to these results. Their stratum says that they were not drawn at random."""
    rows = {row.key: row for row in rows_to_label(files)}
    run = run_digest((*row.key, row.judged.digest) for row in rows.values())
    lines: list[Label] = [label for label in labels.lines if label.sample is not None]
    bound = [label for label in labels.unbound if _why_not(label, rows) is None]
    lines += (replace(label, sample=rows[label.id, label.trial].sampling(run, GIVEN)) for label in bound)
    unused = dict.fromkeys(_unused(labels.unbound, rows))
    known = parse_labels("".join(map(line_of, lines)), labels.file)
    return BoundLabels(known, len(bound), tuple(unused))


def _unused(labels: Iterable[Label], rows: Mapping[_Key, JudgedRow]) -> Iterable[str]:
    for label in labels:
        why = _why_not(label, rows)
        if why is not None:
            yield why


def _why_not(label: Label, rows: Mapping[_Key, JudgedRow]) -> str | None:
    row = rows.get((label.id, label.trial))
    if row is None:
        return f"{label.id}, trial {label.trial}: not among the judged trials of these results"
    if label.behavior not in row.judged.statements:
        return f"{label.id}, trial {label.trial}: {label.behavior} is not among its judged statements"
    return None
