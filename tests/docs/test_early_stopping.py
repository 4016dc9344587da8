"""What the page about early stopping says was measured is what the table beside it holds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from bench.early_exact import sampled
from bench.early_stopping import ALPHAS, DESIGNS, RATES, SIZE, SPENDINGS, THRESHOLDS
from bench.early_stopping_page import BROKEN, NAME, PAGE, Figures, page
from bench.measured_pages import read

from highbar.statistics.spending import binomial_boundaries, suite_boundaries
from highbar.statistics.stopping import sample_ends

FIGURES = Figures(read(f"{NAME}.csv"))
ACCEPTED = 0.05


def test_the_page_is_what_its_table_says() -> None:
    assert PAGE.read_text("utf-8") == page(FIGURES.rows), "run python -m bench.early_stopping_page"


def test_every_design_of_the_grid_was_computed_and_none_errs_more_than_is_accepted() -> None:
    assert len(FIGURES.cases("largest error")) == 2 * len(SPENDINGS) * len(ALPHAS) * len(THRESHOLDS)
    assert FIGURES.largest("largest error", "of alpha") <= 1


def test_chance_in_the_answers_does_not_count_where_they_are_said_to_be_fixed() -> None:
    assert "in about four of ten runs, and in 2.6 % without" in PAGE.read_text("utf-8")
    varying = sample_ends(binomial_boundaries(Fraction(85, 100), 200, ACCEPTED), Fraction(84, 100))[0]
    assert varying.passes == pytest.approx(0.026, abs=5e-4)
    assert (
        "gets 84 % of the answers right, each by chance, passes 85 % of 200 scenarios in about four of ten"
        in PAGE.read_text()
    )
    assert sample_ends(suite_boundaries(Fraction(85, 100), 200, ACCEPTED), Fraction(84, 100))[
        0
    ].passes == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_table_is_what_the_boundaries_come_to_now(name: str) -> None:
    boundaries = DESIGNS[name](SIZE)
    for rate in (RATES[0], RATES[-1]):
        case = f"true rate {rate:.0%}"
        ends = sampled(boundaries, rate)
        found = [FIGURES.of(name, case, measured) for measured in ("passes", "fails", "scenarios")]
        assert found == pytest.approx(ends, abs=1e-4)


def test_bets_and_margins_hold_their_level_but_for_what_chance_explains() -> None:
    # 600 and 4,000 runs: two standard errors are 1.8 and 0.7 points.
    assert FIGURES.largest("bets, at the threshold", "passes", "fails") <= ACCEPTED + 0.018
    assert FIGURES.largest("a margin, exactly lost", "passes", "fails") <= ACCEPTED + 0.015


def test_only_the_recorded_order_holds_the_level() -> None:
    for case in FIGURES.cases(BROKEN):
        wrong = FIGURES.of(BROKEN, case, "passes")
        assert (wrong <= ACCEPTED + 0.01) == ("recorded" in case)
        assert wrong > 0.2 or "recorded" in case


def test_the_savings_at_equal_power_are_the_published_ones() -> None:
    published = {"70%": 0.74, "80%": 0.36, "90%": 0.39, "95%": 0.64, "99%": 0.40}
    for rate, saved in published.items():
        assert round(FIGURES.of("spending: linear", f"true rate {rate}", "saved"), 2) == saved
