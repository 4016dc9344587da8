"""Labels → how far people agree with each other, and where they disagree with the judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from highbar.model.calibration import PairOfPeople, PeopleAgreement, ReaderDisagreement
from highbar.model.judgments import Label, LabeledTrial
from highbar.statistics.agreement import krippendorff_alpha

_Place = tuple[str, int, str, str]
"""The id and number of a trial, its run, and the name of a statement."""


def between_people(labels: Sequence[Label]) -> PeopleAgreement | None:
    """How far people agree; None if no two of them labeled the same statement."""
    answers = _answers(labels)
    shared = {place: by_person for place, by_person in answers.items() if len(by_person) > 1}
    if not shared:
        return None
    people = dict.fromkeys(by for by_person in shared.values() for by in by_person)
    pairs = []
    for first, second in combinations(people, 2):
        both = [
            (by_person[first], by_person[second])
            for by_person in shared.values()
            if {first, second} <= by_person.keys()
        ]
        if both:
            pairs.append(PairOfPeople(first, second, len(both), sum(one is two for one, two in both) / len(both)))
    alpha = krippendorff_alpha(list(by_person.values()) for by_person in shared.values())
    return PeopleAgreement(len(shared), alpha, tuple(pairs))


def disagreements(trials: Sequence[LabeledTrial], labels: Sequence[Label]) -> Iterator[ReaderDisagreement]:
    """Every statement about which most people disagree with the judge. `cannot_tell` of the judge is disagreement."""
    answers = _answers(labels, unsure=True)
    for trial in trials:
        for name, (word, observed) in trial.statements.items():
            if observed is None or word == ("observed" if observed else "not_observed"):
                continue
            judged = trial.sample.judged.statements[name]
            people = answers[trial.id, trial.trial, trial.sample.run, name]
            yield ReaderDisagreement(
                trial.id,
                trial.trial,
                name,
                judged.statement,
                word,
                judged.evidence,
                observed,
                tuple(people.items()),
            )


def _answers(labels: Sequence[Label], *, unsure: bool = False) -> dict[_Place, dict[str, bool | None]]:
    """What each person said about each statement. `unsure` includes those who cannot tell, as None."""
    found: dict[_Place, dict[str, bool | None]] = defaultdict(dict)
    for label in labels:
        if label.sample is not None and (unsure or label.observed is not None):
            found[label.id, label.trial, label.sample.run, label.behavior][label.by] = label.observed
    return found
