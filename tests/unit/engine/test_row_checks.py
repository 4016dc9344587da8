"""What the rows as a whole must keep to, question by question: what is refused, and what is not."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from highbar.engine import row_checks
from highbar.engine.column_readers import Raw
from highbar.engine.duckdb import DuckDBEngine
from highbar.engine.layout import layout_of
from highbar.engine.protocol import Request
from highbar.engine.sources import SourcePart
from highbar.errors import InputError


@pytest.fixture
def rows():
    """A function that names `trials` and `scenarios`, and gives what answers questions about them."""
    engines = []

    def of(**columns):
        engine = DuckDBEngine(table=pa.table(columns))
        engines.append(engine)
        engine.define("trials", "SELECT * FROM results", materialized=False)
        engine.define("scenarios", "SELECT DISTINCT id FROM results", materialized=False)
        return engine.rows

    yield of
    for engine in engines:
        engine.close()


def layout(*columns):
    return layout_of((SourcePart({name: Raw(name, "VARCHAR") for name in columns}, ()),), Request((), slices=("team",)))


def refused(error, code, *values):
    """It is refused with this one code, and the message has these values."""
    (problem,) = error.value.problems
    assert problem.code == code
    assert not [value for value in values if value not in problem.message], problem.message


def test_one_bad_row_is_refused_with_its_share():
    with pytest.raises(row_checks.BadRows) as error:
        row_checks.refuse_bad_rows(trials=3, bad=1)
    refused(error, "results.unreadable", "1 of 3")


def test_no_row_is_refused():
    with pytest.raises(InputError) as error:
        row_checks.refuse_bad_rows(trials=0, bad=0)
    refused(error, "results.empty")


def test_sound_rows_are_not_refused():
    row_checks.refuse_bad_rows(trials=1, bad=0)


@pytest.mark.parametrize(
    ("trial", "values"),
    [(None, ("'a'", "2 results")), (7, ("'a'", "2 results", "trial 7"))],
)
def test_the_same_trial_twice_is_refused_by_its_name(rows, trial, values):
    asked = rows(id=["a", "a", "b"], trial=pa.array([trial, trial, 1], pa.int64()))
    with pytest.raises(row_checks.DuplicateResults) as error:
        row_checks.refuse_or_warn_of_ids(asked, repeated=True)
    refused(error, "results.duplicate-trial", *values)
    assert error.value.keys == (("a", trial),)


def test_the_same_id_twice_without_trials_is_refused_by_its_name(rows):
    with pytest.raises(row_checks.DuplicateResults) as error:
        row_checks.refuse_or_warn_of_ids(rows(id=["a", "b", "a"]), repeated=False)
    refused(error, "results.duplicate-trial", "'a'", "2 results")
    assert error.value.keys == (("a", None),)


def test_of_many_that_stand_twice_the_first_twenty_are_named(rows):
    ids = [f"s{place:02}" for place in range(25)]
    with pytest.raises(row_checks.DuplicateResults) as error:
        row_checks.refuse_or_warn_of_ids(rows(id=ids * 2), repeated=False)
    assert [id_ for id_, _ in error.value.keys] == ids[:20]


def test_trials_of_one_scenario_are_not_taken_for_duplicates(rows):
    assert row_checks.refuse_or_warn_of_ids(rows(id=["a", "a"], trial=[1, 2]), repeated=True) == ()


@pytest.mark.parametrize("other", ["ID-1", "id -1", "id\u200b-1"])
@pytest.mark.parametrize("repeated", [False, True])
def test_ids_that_look_alike_are_told_apart_and_warned_of(rows, other, repeated):
    first, second = sorted(["id-1", other])
    asked = rows(id=["id-1", other, "x"], trial=[1, 1, 1])
    (warning,) = row_checks.refuse_or_warn_of_ids(asked, repeated=repeated)
    assert f"{first!r} and {second!r}" in warning


def test_at_most_five_pairs_of_ids_are_warned_of(rows):
    ids = [f"s{place}" for place in range(7)]
    assert len(row_checks.look_alike_ids(rows(id=[*ids, *map(str.upper, ids)]))) == 5


@pytest.mark.parametrize("column", ["category", "capability", "cluster", "weight", "col_0"])
def test_trials_that_disagree_on_what_belongs_to_the_scenario_are_refused(rows, column):
    name = "team" if column == "col_0" else column
    others = {one: ["x"] * 3 for one in ("category", "capability", "cluster", "weight", "col_0")}
    asked = rows(id=["a", "a", "b"], **(others | {column: ["x", "y", "z"]}))
    with pytest.raises(InputError) as error:
        row_checks.refuse_disagreement(
            asked, layout("id", "trial", "category", "capability", "cluster", "weight", "team")
        )
    refused(error, "results.disagree", "'a'", f"on {name}")


def test_every_column_that_trials_disagree_on_is_named(rows):
    asked = rows(id=["a", "a"], category=["x", "y"], capability=["x", "x"], col_0=["x", "y"])
    with pytest.raises(InputError) as error:
        row_checks.refuse_disagreement(asked, layout("id", "trial", "category", "capability", "team"))
    refused(error, "results.disagree", "'a'", "on category, team")


@pytest.mark.parametrize(
    ("said_by", "partly"), [((None, None), False), (("x", "x"), False), (("x", None), True), ((None, "x"), True)]
)
def test_what_one_trial_says_and_another_leaves_out_is_to_be_filled_in(rows, said_by, partly):
    asked = rows(id=["a", "a", "b"], category=pa.array([*said_by, "z"], pa.string()), col_0=["x"] * 3)
    assert row_checks.omits_descriptions(asked, layout("id", "trial", "category")) is partly
    row_checks.refuse_disagreement(asked, layout("id", "trial", "category"))


def test_single_trials_cannot_disagree(rows):
    row_checks.refuse_disagreement(rows(id=["a", "a"], category=["x", "y"]), layout("id", "category"))
    assert row_checks.omits_descriptions(rows(id=["a", "a"], category=["x", None]), layout("id", "category")) is False


@pytest.mark.parametrize(("versions", "found"), [([None, None], None), (["v1", None], "v1"), (["v1", "v1"], "v1")])
def test_the_version_of_the_agent_is_the_one_that_ran(rows, versions, found):
    assert row_checks.one_agent_version(rows(id=["a", "b"], agent_version=pa.array(versions, pa.string()))) == found


def test_results_of_two_versions_are_refused(rows):
    with pytest.raises(InputError) as error:
        row_checks.one_agent_version(rows(id=["a", "b"], agent_version=["v2", "v1"]))
    refused(error, "agent.several-versions", "'v1', 'v2'")


@pytest.mark.parametrize(
    ("required", "optional", "named"),
    [
        (("a*",), ("*1",), "a1"),
        (("a*",), ("a?",), "a1, a2"),
        (("a*",), ("c*",), None),
        (("a1",), ("a*",), None),
        (("a*",), ("a1",), None),
        ((), ("a*",), None),
        (("a*",), (), None),
    ],
)
def test_an_id_that_is_required_and_optional_by_patterns_is_warned_of(rows, required, optional, named):
    request = Request((), required=required, optional=optional)
    warnings = row_checks.required_and_optional(rows(id=["a1", "a2", "b1"]), request)
    assert [re.match(r"(.*?) (?:is|are) ", warning)[1] for warning in warnings] == ([named] if named else [])


@pytest.mark.parametrize(("number", "more"), [(5, ""), (6, " and 1 more"), (8, " and 3 more")])
def test_at_most_five_of_them_are_named(rows, number, more):
    asked = rows(id=[f"a{place}" for place in range(number)])
    (warning,) = row_checks.required_and_optional(asked, Request((), required=("a*",), optional=("*",)))
    assert warning.startswith(f"a0, a1, a2, a3, a4{more} are required")
