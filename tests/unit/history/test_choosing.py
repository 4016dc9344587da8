from __future__ import annotations

from msgspec.structs import replace

from highbar.history.choosing import comparable
from tests.history_runs import new_run


def runs(*numbers, **facts):
    return [new_run(number, **facts).run for number in numbers]


def numbers(chosen):
    return [int(run.commit, 16) for run in chosen.runs]


def line(*numbers):
    return {f"{number:040x}" for number in numbers}


def test_the_last_runs_are_chosen_whatever_their_verdict_was():
    some = runs(*range(8))
    assert {run.verdict for run in some} == {"pass", "fail"}
    assert numbers(comparable(some, line(*range(8)), 5)) == [3, 4, 5, 6, 7]


def test_runs_of_other_commits_are_left_out_and_counted():
    found = comparable([*runs(1, 2), *runs(3, commit="f" * 40), *runs(4, commit=None)], line(1, 2))
    assert numbers(found) == [1, 2]
    assert found.in_words == "1 run of commits that are no ancestors; 1 run of which the commit is not known"


def test_a_shallow_clone_finds_ancestors_in_the_records():
    assert numbers(comparable(runs(1, 2, 3), line(3))) == [1, 2, 3]


def test_without_git_the_branch_of_the_last_run_decides():
    found = comparable([*runs(1), *runs(2, branch="other"), *runs(3)], None)
    assert numbers(found) == [1, 3]
    assert found.in_words == "1 run of other branches"


def test_runs_that_were_measured_otherwise_than_the_last_are_left_out():
    some = [*runs(1), *runs(2, suite="x"), *runs(3, scoring="x"), *runs(4, judge="x"), *runs(5, judge=None), *runs(6)]
    found = comparable(some, None)
    assert numbers(found) == [1, 6]
    assert dict(found.left_out) == {
        "with other scenarios": 1,
        "scored in another way": 1,
        "with another judge": 1,
        "of which suite, scoring or judge is not known": 1,
    }


def test_results_that_were_judged_twice_count_once():
    first, second = runs(1, 2)
    assert numbers(comparable([first, replace(second, results=first.results)], None)) == [2]


def test_a_run_that_went_on_after_it_was_added_counts_once():
    first, second = runs(1, 2)
    assert numbers(comparable([replace(first, begun="b"), replace(second, begun="b")], None)) == [2]
    assert numbers(comparable([replace(first, begun="b"), replace(second, begun="c")], None)) == [1, 2]


def test_a_run_without_scenarios_or_of_a_changed_tree_is_left_out():
    some = [*runs(1, listed=None), *runs(2, changed=True), *runs(3)]
    assert numbers(comparable(some, None)) == [2, 3]
    found = comparable(some, None, changed=False)
    assert numbers(found) == [3]
    assert len(found.left_out) == 2


def test_nothing_is_chosen_from_nothing():
    assert comparable([], None).runs == ()
    assert comparable(runs(1), line(2)).runs == ()
