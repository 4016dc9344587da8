"""A suite in, sentences about its judges and canaries out."""

from __future__ import annotations

from collections.abc import Iterator

from highbar.language.phrases import count, some
from highbar.suite.parts import Judge, Suite
from highbar.suite.same_model import is_same_model
from highbar.suite.statements import judged_trials, statement_texts


def judge_lines(suite: Suite) -> Iterator[tuple[str, str]]:
    """Sentences about who judges what, in how many calls; and about the canaries that test the judge."""
    number, trials = len(statement_texts(suite)), judged_trials(suite)
    if suite.judges:
        yield "judge" if len(suite.judges) == 1 else "judges", " ".join(_judged(suite, number, trials))
    elif number:
        what = f"{count(number, 'statement')} in {count(trials, 'trial')}"
        yield "judge", f"{what}, and no judge is configured: add a judge block, or name a judge with --judge."
    if suite.canaries:
        yield "canaries", " ".join(_canaries(suite))


def _judged(suite: Suite, number: int, trials: int) -> Iterator[str]:
    judges = suite.judges
    if len(judges) == 1:
        yield f"{_who(judges[0])}."
    else:
        yield f"{len(judges)} judges, of which the majority counts: {some([_who(one) for one in judges], len(judges))}."
        if len(judges) % 2 == 0:
            yield "Without a majority nobody can tell, which an odd number of judges makes rare."
    if number:
        known = len(suite.canaries)
        also = f", and {known} {'canary' if known == 1 else 'canaries'}" if known else ""
        calls = count((trials + known) * len(judges), "call")
        yield f"{count(number, 'statement')} in {count(trials, 'trial')}{also}: {calls}."
    else:
        yield "No scenario has a statement in plain words, so it is not asked."
    if is_same_model(suite):
        yield "This is the model under test: models favor their own answers, so another judge is better."


def _who(judge: Judge) -> str:
    return f"Python function {judge.python}" if judge.python else f"{judge.model} at {judge.base_url}"


def _canaries(suite: Suite) -> Iterator[str]:
    known = [observed for canary in suite.canaries for observed in canary.observed.values()]
    answers = count(len(suite.canaries), "known answer")
    yield f"{answers} with {count(len(known), 'statement')}, by which the judge is tested in every run."
    if len({*known}) == 1:
        same, other = ("true", "false") if known[0] else ("false", "true")
        yield f"All of them are {same}, so a judge that always says so passes: add one that is {other}."
