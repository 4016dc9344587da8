"""A run and a request → everything that is computed from the rows: a few kilobytes, however many rows there are."""

from __future__ import annotations

from msgspec.structs import replace

from highbar.core.score import choosing, refusals
from highbar.core.score.choosing import Reread
from highbar.core.score.details import DetailReader
from highbar.core.score.groups import GroupSums
from highbar.core.score.lists import Lists
from highbar.core.score.scores import Scores
from highbar.core.score.settled import Settled
from highbar.core.score.suite_match import match_suite
from highbar.model.reduction import MissingTrials, Reduction, SuiteMatch, UnevenTrials
from highbar.model.requests import Request


def reduce(scores: Scores, request: Request, reread: Reread) -> Reduction:
    """Score, sum and group the trials. Raises InputError if they cannot be judged together."""
    scores.settle_kinds()
    if request.select:
        taken, selection = choosing.select(scores, request)
        return replace(reduce(taken, replace(request, select=()), taken.reader(reread)), selection=selection)
    if request.within_suite:
        inside, outside, left = choosing.within_suite(scores)
        found = reduce(inside, replace(request, within_suite=False), inside.reader(reread))
        return replace(found, outside=outside, left_out=left)
    return _reduce_planned(scores, request, reread)


def _reduce_planned(scores: Scores, request: Request, reread: Reread) -> Reduction:
    """The reduction with a row for each planned trial that has none."""
    missing: MissingTrials | None = None
    alone: set[str] = set()
    whole = scores
    if request.planned is not None:
        whole, missing, alone = choosing.with_missing(scores, request.planned)
        reread = choosing.reader_with_missing(len(scores), reread)
    settled = Settled(whole, request)
    found = _reduce(settled, Lists(settled, reread), alone)
    if missing is not None:
        # No row of the results says `unjudged` for these.
        found = replace(found, missing=missing, unjudged=found.unjudged - missing.trials)
    found = replace(found, columns=scores.columns(), origins=scores.origins_in_order())
    if not (request.first_trials and found.uneven and found.uneven.ends_in_a_pass):
        return found
    first = choosing.first_trials(settled)
    plain = replace(request, first_trials=False, planned=None, details=False, scenario_limit=0, trials_of=())
    return replace(found, uneven=replace(found.uneven, first=_reduce_planned(first, plain, first.reader(reread))))


def _reduce(settled: Settled, lists: Lists, alone: set[str]) -> Reduction:
    warnings = refusals.refuse_or_warn(settled)
    request, keys, counts = settled.request, settled.keys, settled.counts
    worst = GroupSums(settled, "worst")
    whole = worst.whole()
    slices, of_slices = worst.slices()
    failed, listed = lists.failed()
    details = DetailReader(settled, lists.reread)
    if any("missed" in part.columns for part in settled.scores.parts):
        listed = details.with_expected_answers(listed)
    passed = sum(count * keys[at].scenario.passed for at, count in counts.items())
    failures = sum(count * keys[at].scenario.failed for at, count in counts.items())
    of_kind = settled.trials
    kinds = settled.scores.kind
    found = Reduction(
        whole=whole,
        slices=slices,
        errors=sum([of_kind[kind].error for kind in kinds]),
        unjudged=sum([of_kind[kind].unjudged for kind in kinds]),
        undecided=len(kinds) - passed - failures,
        blank=sum([of_kind[kind].blank for kind in kinds]),
        failed=failed,
        scenarios_failed=listed,
        patterns=lists.patterns(),
        suite=_suite(settled, lists, alone) if request.suite else None,
        repetition=lists.repetition() if settled.repeated else None,
        clustered=settled.clustered,
        agent_version=refusals.one_agent_version(settled.scores),
        columns=(),
        origins=(),
        categories=_categories(settled),
        warnings=(*warnings, *of_slices),
        scenarios=lists.every() if request.scenario_limit else (),
        uneven=_uneven(settled),
        details=details.details(listed) if request.details else None,
        trials=details.trials_of(request.trials_of) if request.trials_of else {},
    )
    if not settled.any_undecided:
        return found
    best = GroupSums(settled, "best")
    return replace(
        found,
        best=best.whole(),
        best_slices=best.slices()[0],
        scenarios_undecided=lists.undecided(),
        undecided_trials={wanted: lists.undecided_trials(wanted) for wanted in request.undecided},
    )


def _categories(settled: Settled) -> tuple[str, ...]:
    shown = {settled.descriptions[description].category for description in set(settled.description)}
    return tuple(sorted(category for category in shown if category is not None))


def _suite(settled: Settled, lists: Lists, alone: set[str]) -> SuiteMatch:
    is_optional = lists.matches_any(settled.request.optional)
    differences = settled.scores.differences
    return match_suite(settled, differences, lambda id_: is_optional(id_) and not lists.is_required(id_), alone)


def _uneven(settled: Settled) -> UnevenTrials | None:
    return choosing.uneven_trials(settled, settled.request.planned) if settled.repeated else None
