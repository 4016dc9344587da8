"""The catalogue: data that must fit together."""

from fractions import Fraction

import pytest

from highbar import catalogue
from highbar.columns import COLUMN_NAMES, COLUMNS, SLICEABLE
from highbar.language import threshold
from highbar.language.formula import COLUMN_FUNCTIONS, FUNCTIONS, leaves, names, parse, unparse
from highbar.model import Call, Constant, Name, Percentile, Term

GUIDE = {
    "pass_rate": ">= 0.85",
    "accuracy": ">= 0.95",
    "precision": ">= 0.9",
    "recall": ">= 0.85",
    "safety_rate": ">= 1.0",
    "behavior_coverage": ">= 0.9",
    "latency_p95": "< 5000ms",
}
ADVERSARIAL = (("category", ("adversarial",)),)


@pytest.mark.parametrize("metric", catalogue.metrics().values(), ids=lambda metric: metric.name)
def test_every_formula_names_only_what_there_is(metric):
    known = {*catalogue.MEASURES, *catalogue.SETTINGS, *catalogue.metrics()} - {metric.name}
    assert names(metric.expression) <= known
    functions = [leaf for leaf in leaves(metric.expression) if isinstance(leaf, Call)]
    assert {leaf.arguments[0].name for leaf in functions} <= catalogue.SUMMED_COLUMNS | catalogue.RANKED_COLUMNS
    assert metric.use_case


def test_the_typical_thresholds_are_those_of_the_guide():
    typical = {name: metric for name, metric in catalogue.metrics().items() if metric.typical_threshold}
    assert {name: threshold.read(metric.typical_threshold, metric).text for name, metric in typical.items()} == GUIDE


def test_names_of_metrics_measures_settings_and_functions_do_not_collide():
    groups = [set(catalogue.metrics()), set(catalogue.MEASURES), set(catalogue.SETTINGS), set(FUNCTIONS)]
    assert sum(map(len, groups)) == len(set.union(*groups))


def test_columns_are_listed_once():
    assert len(COLUMN_NAMES) == len(COLUMNS)
    assert SLICEABLE <= COLUMN_NAMES
    assert catalogue.RANKED_COLUMNS <= catalogue.SUMMED_COLUMNS


@pytest.mark.parametrize("name", ["pass_at_1", "pass_hat_3", "pass_at_999"])
def test_pass_at_k_is_made_for_any_k(name):
    metric = catalogue.find_metric(name)
    assert (metric.name, metric.unit, metric.better) == (name, "ratio", "higher")
    assert metric.expression == parse(f"mean({name})")
    assert catalogue.terms(metric.expression) == (Term(name), Term(name, "count"))


@pytest.mark.parametrize("name", ["pass_at_0", "pass_at_", "pass_hat_03", "pass_at_-1", "pass_in_3", "pass_at_10000"])
def test_there_is_no_pass_at_k_for_what_is_no_count(name):
    assert catalogue.find_metric(name) is None


def test_a_builtin_is_found_by_its_name():
    assert catalogue.find_metric("accuracy") is catalogue.metrics()["accuracy"]
    assert catalogue.find_metric("acuracy") is None


def test_a_measure_is_one_term_and_a_mean_is_two():
    assert catalogue.terms(Name("passed_scenarios")) == (Term("passed"),)
    assert catalogue.terms(Name("total_outputs")) == (Term("correct", "count"),)
    assert catalogue.terms(parse("sum(cost_usd)")) == (Term("cost_usd"),)
    assert catalogue.terms(parse("mean(latency_ms)")) == (Term("latency_ms"), Term("latency_ms", "count"))


def test_a_column_of_the_users_own_is_marked_as_extra():
    assert catalogue.terms(parse("sum(steps)")) == (Term("extra:steps"),)
    assert catalogue.terms(parse("percentile(steps, 50%)")) == Percentile("extra:steps", Fraction(1, 2))


def test_where_narrows_what_a_term_counts():
    german = (("tags.locale", ("de",)),)
    assert catalogue.terms(Name("adversarial_total"), german) == (Term("scenario", where=ADVERSARIAL + german),)
    percentile = Call("percentile", (Name("latency_ms"), Constant(Fraction(95, 100))))
    assert catalogue.terms(percentile, german) == Percentile("latency_ms", Fraction(95, 100), german)
    assert catalogue.terms(parse("mean(passed)"), german)[1] == Term("passed", "count", german)


def test_two_wheres_let_through_what_both_do():
    both = (("category", ("a", "b")),)
    assert catalogue.narrow(both, (("category", ("b", "c")),)) == (("category", ("b",)),)
    assert catalogue.narrow(both, (("category", ("c",)),)) == (("category", ()),)
    assert catalogue.narrow(both, (("capability", ("x",)),)) == (("capability", ("x",)), *both)
    assert catalogue.narrow((), both) == both
    assert catalogue.narrow(both, ()) == both


def test_the_weighted_score_is_the_guides_weighted_aggregation():
    weights = {"accuracy": Fraction(1), "safety_rate": Fraction(3), "behavior_coverage": Fraction(3, 2)}
    metric = catalogue.weighted_score(weights)
    assert metric.formula == "(accuracy × 1 + safety_rate × 3 + behavior_coverage × 1.5) / 5.5"
    assert parse(metric.formula) == metric.expression


@pytest.mark.parametrize("column", ["category", "tags.locale", "model", "cluster", "judge"])
def test_scenarios_can_be_chosen_by_what_was_asked(column):
    assert catalogue.sliceable(column)


@pytest.mark.parametrize("column", ["passed", "error", "latency_ms", "id", "output", "violations", "tags"])
def test_scenarios_cannot_be_chosen_by_what_came_of_them(column):
    assert not catalogue.sliceable(column)


def test_every_leaf_of_every_builtin_has_terms():
    for metric in catalogue.metrics().values():
        for leaf in leaves(metric.expression):
            if isinstance(leaf, Call):
                assert leaf.function in COLUMN_FUNCTIONS
                assert catalogue.terms(leaf)
            elif leaf.name in catalogue.MEASURES:
                assert len(catalogue.terms(leaf)) == 1, unparse(leaf)
