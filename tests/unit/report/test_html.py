"""The pieces of the HTML report: escaping, axes, drawings, packing, and the small form for notebooks."""

from __future__ import annotations

import base64
import json
import re
import zlib
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from highbar import api
from highbar.model import FailedScenario, Value
from highbar.model.details import Bin, Details, Excerpt, ScenarioDetail, TrialDetail
from highbar.report.html import charts, render
from highbar.report.html.charts import around, from_zero
from highbar.report.html.compact import compact
from highbar.report.html.markup import element, join, legible, to_markup
from highbar.report.html.page import pack, package_text
from highbar.report.visible import revealed
from tests.examples import shared
from tests.unit.report.strategies import TEXTS, VERDICTS
from tests.unit.report.verdicts import FAILING

NUMBERS = st.floats(-1e18, 1e18) | st.floats(0, 1)


class Texts(HTMLParser):
    """The elements and the text of some markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data):
        self.text += data


# --- markup ----------------------------------------------------------------------------------


@given(TEXTS)
@pytest.mark.hazard("H110")
def test_a_text_is_read_back_as_text_wherever_it_stands(text):
    read = Texts(element("p", text, title=text))
    assert read.tags == ["p"]
    assert read.text == read.attributes["title"] == revealed(text)


def test_what_is_markup_already_stays_and_what_is_absent_is_left_out():
    assert element("p", element("b", "x"), None, "<", hidden=True, title=None, class_="y") == (
        '<p hidden class="y"><b>x</b>&lt;</p>'
    )
    assert join("a", None, "") == "a"
    assert element("meta", name="x") == '<meta name="x">'


def test_an_order_to_a_ci_runner_is_shown_but_not_written():
    assert to_markup("::error::x ##[error]") == "&#58;&#58;error&#58;&#58;x &#35;&#35;[error]"


def test_lines_and_tabs_of_an_output_are_kept():
    assert legible("a\r\nb\tc\x1b[2J\u202e") == "a\nb\tc\\x1b[2J\\u202e"


# --- axes ------------------------------------------------------------------------------------


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.sampled_from(["ratio", "ms", "USD", "number"]), st.booleans())
def test_an_axis_shows_every_number_in_its_order(numbers, unit, signed):
    axis = around(numbers, unit, 8, 252, signed=signed)
    places = [axis.at(number) for number in sorted(numbers)]
    assert axis.start < axis.end
    assert places == sorted(places)
    assert all(8 <= place <= 252 for place in places)
    assert 1 <= len(list(axis.ticks())) <= 12


def test_an_axis_of_ratios_stays_between_nothing_and_all():
    axis = around([0.98, 0.999], "ratio", 0, 100)
    assert (axis.start, axis.end) == (pytest.approx(0.97), pytest.approx(1.0))
    assert around([0.0, 0.02], "ratio", 0, 100).start == 0
    assert around([-0.02, 0.5], "ratio", 0, 100, signed=True).start < -0.02


def test_an_axis_has_round_numbers():
    assert [text for _, text in around([0.83, 1.0], "ratio", 0, 100).ticks()] == ["80%", "85%", "90%", "95%", "100%"]
    assert [text for _, text in from_zero(5200, "ms", 0, 100).ticks()][:3] == ["0 ms", "1000 ms", "2000 ms"]


# --- drawings --------------------------------------------------------------------------------


def value(number, low=None, high=None, unit="ratio", better="higher"):
    return Value(Fraction(number), 10, 0, unit, better, low=low, high=high)


def x(drawing, look):
    """Where the element with this class stands."""
    found = re.search(rf'<(?:circle cx|path d)="M?([\d.]+)[^>]*class="{look}"', drawing)
    assert found, drawing
    return float(found[1])


def line(drawn, bar=None, look="met"):
    """The line of one demand, on an axis of its own."""
    return charts.demand_line(charts.shared_axis([drawn], [bar[1]] if bar else []), drawn, bar, look)


def test_a_value_stands_on_the_side_of_the_threshold_where_it_is():
    drawn = line(value("0.9", 0.8, 0.97), (">=", Fraction("0.85")))
    assert x(drawn, "dot met") > x(drawn, "bar")
    missed = line(value("0.8", 0.7, 0.9), (">=", Fraction("0.85")), "missed")
    assert x(missed, "dot missed") < x(missed, "bar")


def test_two_values_on_a_shared_axis_can_be_compared():
    low, high = value("0.5", 0.4, 0.6), value("0.9", 0.8, 0.97)
    axis = charts.shared_axis([low, high])
    assert x(charts.demand_line(axis, low, None, "met"), "dot met") == axis.at(0.5)
    assert x(charts.demand_line(axis, high, None, "met"), "dot met") == axis.at(0.9)


def test_a_line_in_another_unit_than_the_head_of_the_table_has_its_own_labels():
    assert "tick" not in line(value("0.9", 0.8, 0.97))
    assert " ms</text>" in line(value("3000", 2500.0, 3500.0, "ms", "lower"))


@pytest.mark.parametrize(
    ("operator", "better", "left"), [(">=", "higher", False), ("<", "lower", True), ("=", "higher", False)]
)
def test_the_side_that_is_accepted_is_tinted(operator, better, left):
    bound = Fraction(1) if operator == "=" else Fraction(1, 2)
    drawn = line(value("0.6", 0.4, 0.8, better=better), (operator, bound))
    found = re.search(r'<rect x="([\d.]+)"[^>]*class="accepted"', drawn)
    assert (float(found[1]) < x(drawn, "bar")) == left


def test_an_interval_without_an_end_has_no_stroke_there():
    both = line(value("0.9", 0.8, 0.97))
    one = line(value("3000", 2500.0, None, "ms", "lower"))
    assert both.count("v10") == 2
    assert one.count("v10") == 1


def test_what_is_undefined_is_not_drawn():
    undefined = Value(None, 0, 5, "ratio", "higher", "no data")
    assert line(undefined, look="inconclusive") == ""
    assert "dot" not in charts.value_line(around([0, 1], "ratio", 0, 1), undefined, "plain")


def test_a_histogram_names_its_columns_and_draws_an_open_end_pale():
    bins = (Bin(Fraction(0), Fraction(100), 3), Bin(Fraction(100), None, 1))
    limit = charts.Limit("latency_p95 ≤ 5000 ms", Fraction(5000), "bound")
    drawn = charts.histogram(bins, [limit], "Trials")
    assert "<title>0 ms to 100 ms: 3</title>" in drawn
    assert "<title>100 ms and above: 1</title>" in drawn
    assert drawn.count("column open") == 1
    assert ">latency_p95 ≤ 5000 ms</text>" in drawn


# --- the page --------------------------------------------------------------------------------


def unpacked(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_what_is_packed_is_read_back():
    assert unpacked(pack(["ä", [1, None]])) == ["ä", [1, None]]


@given(TEXTS)
@pytest.mark.hazard("H110")
@pytest.mark.hazard("H116")
def test_packed_texts_are_data_and_cannot_end_their_element(text):
    trial = TrialDetail(
        1, False, text, Excerpt(text, 5), Excerpt(text), (text,), (), (text,), (text,), error=text, why=((text, text),)
    )
    opened = ScenarioDetail(FailedScenario(text, text, text, 1, 0), (trial,))
    page = render(replace(FAILING, details=Details((opened,))))
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    (scenario,), ((found,),) = unpacked(data["index"]), unpacked(data["blocks"][0])
    assert scenario[0] == revealed(text)
    assert found[3] == [legible(text), 5]
    assert found[-1] == [[revealed(text), legible(text)]]
    assert page.count("</script>") == 2


def test_without_details_the_page_has_no_script():
    assert "<script" not in render(FAILING)
    assert "script-src" not in render(FAILING)


@shared(VERDICTS)
@pytest.mark.hazard("H118")
def test_a_notebook_shows_the_verdict_without_any_script(verdict):
    shown = compact(verdict)
    read = Texts(shown)
    assert {"PASS", "FAIL", "INCONCLUSIVE"} & set(re.findall(r"[A-Z]+", read.text.partition("}\n")[2] or read.text))
    assert "script" not in read.tags
    assert not [name for name in read.attributes if name.startswith("on")]


def test_verdicts_and_comparisons_show_themselves_in_a_notebook():
    rows = [{"id": f"S{number}", "passed": number > 3} for number in range(10)]
    shown = api.check(rows, {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}})._repr_html_()
    assert "FAIL" in shown
    assert "thresholds.blocking.pass_rate" in shown
    better = [{**row, "passed": True} for row in rows]
    compared = api.compare(rows, better)._repr_html_()
    assert "BETTER" in compared
    assert "Fixed: passed in head, not in base (4)" in compared


def test_our_own_files_hold_nothing_that_a_page_could_trip_over():
    for name in ("page.css", "page.js", "elements.js", "compact.css"):
        text = package_text(name)
        assert "</" not in text
        assert "\t" not in text
        assert "innerHTML" not in text
        assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttpRequest|import\(|eval\(", text)


def test_the_lead_of_a_policy_that_only_warns_says_that_no_demand_blocks():
    page = render(replace(FAILING, verdict="pass", rules=(FAILING.rules[3],)))
    assert "No demand blocks." in page
    assert "0 demands" not in page
