"""The labels so far: those of a file, and those that a person adds."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.labeling.drawing import Drawing, DrawnTrial
from highbar.model.judgments import Label
from highbar.store.labels import Labels, is_same_judgment, line_of

_Place = tuple[str, int, str, str]


class LabelBook:
    """The labels of drawn trials by person, and all other labels of the file, which stay unchanged.

    Raises InputError if a label of the file is about an earlier judgment of a drawn trial.
    """

    def __init__(self, drawing: Drawing, existing: Labels | None = None) -> None:
        self.drawing = drawing
        self._trials = {trial.key: trial for trial in drawing.trials}
        self._others: list[Label] = []
        self._labels: dict[_Place, Label] = {}
        problems = [problem for label in (existing.lines if existing else ()) for problem in self._take(label)]
        if problems:
            raise InputError(*(replace(problem, file=existing.file if existing else None) for problem in problems[:20]))

    def _take(self, label: Label) -> Iterable[Problem]:
        drawn = self._trials.get((label.id, label.trial))
        if drawn is None or label.sample is None or label.sample.run != self.drawing.run:
            self._others.append(label)
        elif not is_same_judgment(label.sample, drawn.sample):
            message = f"{label.id}, trial {label.trial}: this label is of an earlier judgment of the same trial"
            yield Problem(message, hint="start a new file of labels")
        else:
            # If the sample is larger than before, more trials were drawn than the label records.
            self._labels[_place(label)] = replace(label, sample=drawn.sample)

    @property
    def lines(self) -> tuple[Label, ...]:
        """All labels: first those about other trials, then those of drawn trials, each in the order of the answers."""
        return (*self._others, *self._labels.values())

    @property
    def text(self) -> str:
        """All labels as the text of a file."""
        return "".join(map(line_of, self.lines))

    def observed(self, trial: DrawnTrial, statement: str, by: str) -> tuple[bool | None] | None:
        """The answer of a person, in a tuple of one; None if they have not answered. `(None,)`: they cannot tell."""
        label = self._labels.get((*trial.key, statement, by))
        return None if label is None else (label.observed,)

    def put(self, trial: DrawnTrial, statement: str, by: str, *, observed: bool | None) -> None:
        """Set the answer of a person, replacing an earlier one."""
        label = Label(trial.id, trial.trial, statement, observed, by, trial.sample)
        self._labels[_place(label)] = label

    def remove(self, trial: DrawnTrial, statement: str, by: str) -> None:
        """Remove the answer of a person."""
        del self._labels[*trial.key, statement, by]

    def open(self, by: str) -> list[tuple[DrawnTrial, str]]:
        """The trials and statements that a person has not answered yet."""
        return [
            (trial, name)
            for trial in self.drawing.trials
            for name in trial.statements
            if self.observed(trial, name, by) is None
        ]


def _place(label: Label) -> _Place:
    return label.id, label.trial, label.behavior, label.by
