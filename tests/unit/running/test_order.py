"""Which scenarios a run has, and in which order."""

from __future__ import annotations

import pytest

from highbar.errors import InputError
from highbar.running.order import choose_scenarios, permutation
from highbar.store.run_document import Chosen
from highbar.suite import Suite, read_values

IDS = [f"S{place}" for place in range(200)]


def suite() -> Suite:
    rows = [("HOURS-1", "happy_path"), ("HOURS-2", "edge_case"), ("FIND[1]", "edge_case"), ("PAY*", "adversarial")]
    return read_values(
        {"scenarios": [{"id": id_, "category": category, "input": "?", "answer": "yes"} for id_, category in rows]}
    )


def problems(chosen: Chosen) -> list[tuple[str, str, str | None]]:
    """The code of each problem, what its message begins with, and its hint."""
    with pytest.raises(InputError) as caught:
        choose_scenarios(suite(), chosen)
    return [(problem.code, problem.message.partition(":")[0], problem.hint) for problem in caught.value.problems]


def test_the_order_is_the_same_everywhere_and_forever() -> None:
    assert permutation(IDS[:8], 20261116) == ("S0", "S6", "S5", "S1", "S7", "S2", "S4", "S3")


def test_the_order_has_every_id_once_and_depends_on_the_seed() -> None:
    first, second = permutation(IDS, 1), permutation(IDS, 2)
    assert sorted(first) == sorted(second) == sorted(IDS)
    assert first != second
    assert first not in (tuple(IDS), tuple(sorted(IDS)))


def test_the_order_of_two_ids_does_not_depend_on_the_others_or_on_the_file() -> None:
    whole = permutation(IDS, 7)
    assert permutation(IDS[::-1], 7) == whole
    half = permutation(IDS[50:150], 7)
    assert half == tuple(id_ for id_ in whole if id_ in set(half))


def test_each_scenario_is_about_as_often_before_another_as_after_it() -> None:
    before = sum(
        order.index("A") < order.index("B") for order in (permutation(["A", "B", "C"], seed) for seed in range(400))
    )
    assert 150 < before < 250


def test_ids_of_any_characters_have_a_place() -> None:
    assert sorted(permutation(["ä", "日本", "\ud800", ""], 1)) == sorted(["ä", "日本", "\ud800", ""])


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        (Chosen(), ("HOURS-1", "HOURS-2", "FIND[1]", "PAY*")),
        (Chosen(only=("HOURS-2",)), ("HOURS-2",)),
        (Chosen(only=("*-2", "HOURS-1")), ("HOURS-1", "HOURS-2")),
        (Chosen(only=("HOURS*",), category=("edge_case",)), ("HOURS-2",)),
        (Chosen(category=("edge_case", "adversarial")), ("HOURS-2", "FIND[1]", "PAY*")),
        (Chosen(limit=2), ("HOURS-1", "HOURS-2")),
        (Chosen(category=("edge_case",), limit=1), ("HOURS-2",)),
        (Chosen(limit=99), ("HOURS-1", "HOURS-2", "FIND[1]", "PAY*")),
        (Chosen(only=("FIND[1]",)), ("FIND[1]",)),
        (Chosen(only=("PAY*",)), ("PAY*",)),
        (Chosen(only=("*",)), ("HOURS-1", "HOURS-2", "FIND[1]", "PAY*")),
    ],
)
def test_the_chosen_scenarios_are_in_the_order_of_the_file(chosen: Chosen, ids: tuple[str, ...]) -> None:
    assert choose_scenarios(suite(), chosen) == ids


def test_a_choice_that_matches_nothing_is_a_problem_even_if_another_one_matches() -> None:
    assert problems(Chosen(only=("HOURS-1", "HOURS-3"))) == [
        ("option.no-match", "--only HOURS-3", "did you mean 'HOURS-1'?")
    ]
    assert problems(Chosen(only=("FIND[12]",))) != []  # brackets are no pattern
    assert problems(Chosen(category=("edge_cases",))) == [
        ("option.no-match", "--category edge_cases", "did you mean 'edge_case'?")
    ]


def test_all_problems_of_a_choice_are_said_at_once() -> None:
    assert len(problems(Chosen(only=("nothing", "nobody"), category=("nowhere",), limit=0))) == 4


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_a_problem(limit: int) -> None:
    assert problems(Chosen(limit=limit)) == [("option.bad-value", f"--limit {limit}", None)]


def test_an_empty_choice_is_a_problem() -> None:
    ((code, message, _),) = problems(Chosen(only=("HOURS-1",), category=("edge_case",)))
    assert code == "option.no-match"
    assert "--only" in message
    assert "--category" in message


def test_a_scenario_without_a_category_is_not_in_the_category_none() -> None:
    plain = read_values({"scenarios": [{"id": "A", "input": "?", "answer": "yes"}]})
    with pytest.raises(InputError):
        choose_scenarios(plain, Chosen(category=("None",)))
