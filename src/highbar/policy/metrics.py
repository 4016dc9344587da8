"""The metrics of a policy: the built-in ones, its own definitions, its composite and its weighted score.

Reads definitions into a table in which rules look up metrics. Afterwards every name in every formula is known, and no
formula depends on itself, or the policy has a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from msgspec import Struct, field

from highbar import catalogue
from highbar.catalogue import FINAL_SCORE, MEASURES, SETTINGS, WEIGHTED_SCORE
from highbar.columns import COLUMN_NAMES
from highbar.language.formula import FUNCTIONS, leaves, names, parse
from highbar.language.spelling import near_miss, spelled_out
from highbar.model import Call, Condition, Expression, Logic, Metric, Name, Place, Policy, Relation, Unit, Where
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.limits import MOST_CHAIN, MOST_WEIGHTS
from highbar.policy.settings import read_where

DEFINITION_KEYS = (
    "name",
    "formula",
    "range",
    "unit",
    "better",
    "where",
    "typical_threshold",
    "use_case",
    "description",
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RATIO_RANGE = re.compile(r"0\s*%?\s*(?:-|–|to|\.\.)\s*(?:100\s*%|1(?:\.0)?)")
_NUMBER_RANGE = re.compile(r"(-?\d{1,15}(?:\.\d{1,9})?)\s*(?:-|–|to|\.\.)\s*(-?\d{1,15}(?:\.\d{1,9})?)")
_UNITS: dict[str, Unit] = {
    "ratio": "ratio",
    "ms": "ms",
    "milliseconds": "ms",
    "USD": "USD",
    "per token": "per token",
    "number": "number",
}
_FINE_LATENCY = re.compile(r"latency_p(9[0-9])[_.]?([0-9]{1,4})")
_PERCENTILE = re.compile(r"(?:latency_?)?(p[1-9][0-9]?)(?:_?latency)?")
MEANT = {
    "safety": "safety_rate",
    "score": FINAL_SCORE,
    "composite": FINAL_SCORE,
    "latency": "latency_p95",
    "cost": "cost_per_pass",
    "error": "error_rate",
    "errors": "error_rate",
    "violations": "violation_rate",
    "coverage": "behavior_coverage",
    "behaviors": "behavior_coverage",
    "pass": "pass_rate",
    "success": "pass_rate",
    "success_rate": "pass_rate",
    "f1_score": "f1",
}
"""Other names that people use for metrics. Only for hints: the user may have a column of that name."""
_RESERVED = frozenset({*MEASURES, *SETTINGS, *FUNCTIONS, "and", "or", "not", "description", "pass"})


class Definition(Struct, frozen=True):
    """A metric that the policy defines, and the nodes of its formula and its typical threshold."""

    metric: Metric
    formula: Cursor
    typical_threshold: Cursor | None = None


class MetricTable(Struct):
    """The metrics that rules and formulas may name. Metrics with a number, such as pass_at_3, are added when named."""

    metrics: dict[str, Metric] = field(default_factory=lambda: dict(catalogue.metrics()))
    allow_columns: frozenset[str] = frozenset()
    broken: set[str] = field(default_factory=set)
    """Names whose definition already has a problem. Using such a name is not another problem."""
    unread: list[Cursor] = field(default_factory=list)
    """The typical thresholds of definitions that have a problem."""

    def find(self, name: str) -> Metric | None:
        """The metric of that name; None if there is none."""
        if name not in self.metrics:
            repeated = catalogue.find_metric(name)
            if repeated is None:
                return None
            self.metrics[name] = repeated
        return self.metrics[name]

    def knows(self, name: str) -> bool:
        """Whether a formula may name it: a measure, a setting or a metric."""
        return name in MEASURES or name in SETTINGS or name in self.broken or self.find(name) is not None

    def look_up(self, cursor: Cursor, name: str, at: Place | None = None) -> Metric | None:
        """The metric that a rule names; None if it is broken, or after noting at `at` or the key that it is unknown."""
        metric = self.find(name)
        if metric is None and name not in self.broken:
            cursor.refuse(
                "policy.unknown-metric", f"unknown metric '{name}'", self.hint(name, cursor), at or cursor.key_at
            )
        return None if name in self.broken else metric

    def hint(self, name: str, cursor: Cursor) -> str | None:
        """What to do about a metric that does not exist."""
        if name == WEIGHTED_SCORE:
            return "give the weights of its metrics under weights.by_metric"
        if name == FINAL_SCORE:
            return "give its formula under composite"
        if name in MEASURES:
            return f"'{name}' is a measure; define a metric with it under metrics"
        fine = _FINE_LATENCY.fullmatch(name)
        if fine:
            return f"define it under metrics, with the formula percentile(latency_ms, {fine[1]}.{fine[2]}%)"
        meant = self.meant(name)
        if meant:
            return f"did you mean '{meant}'?"
        listed = "highbar metrics lists them; a metric of your own goes under metrics"
        return cursor.suggest(name, self.metrics) or listed

    def meant(self, name: str) -> str | None:
        """The metric that other tools call `name`; None if there is no such metric."""
        percentile = _PERCENTILE.fullmatch(name.lower())
        meant = MEANT.get(name.lower()) or (f"latency_{percentile[1]}" if percentile else "")
        return meant if meant in self.broken or self.find(meant) else None


def read_definitions(cursor: Cursor | None, settings: Policy, table: MetricTable) -> list[Definition]:
    """The metrics that the list `metrics` of a policy defines. Adds them to the table."""
    if cursor is None:
        return []
    hint = "write a list: - { name: …, formula: … }" if cursor.is_kind("mapping") else None
    if not cursor.is_kind("list"):
        cursor.refuse_kind("a list", hint)
        return []
    found: dict[str, Definition] = {}
    for item in cursor.items():
        fields = item.fields(DEFINITION_KEYS)
        name = _read_name(item, fields, found)
        definition = _read_definition(item, name, fields, settings)
        if definition:
            found[definition.metric.name] = definition
            continue
        if name:
            table.broken.add(name)
        if "typical_threshold" in fields:
            table.unread.append(fields["typical_threshold"])
    table.metrics.update({name: definition.metric for name, definition in found.items()})
    return list(found.values())


def _read_name(item: Cursor, fields: Mapping[str, Cursor], found: Mapping[str, Definition]) -> str | None:
    if "name" not in fields:
        if item.is_kind("mapping"):
            item.refuse("policy.missing-key", "a metric without a name")
        return None
    name = fields["name"].text()
    if name is None:
        return None
    if spelled_out(name) == name and not _NAME.fullmatch(name):
        fields["name"].refuse(
            "metric.name-taken", f"'{name}' cannot be named in a formula", "use letters, digits and underscores"
        )
    elif name.lower() in _RESERVED or catalogue.is_repeated(spelled_out(name)) or not _NAME.fullmatch(name):
        fields["name"].refuse("metric.name-taken", f"the name '{name}' is taken: it means something else in formulas")
    elif name in found:
        fields["name"].refuse("metric.name-taken", f"the metric '{name}' is defined twice")
    else:
        return name
    return None


def _read_definition(
    item: Cursor, name: str | None, fields: Mapping[str, Cursor], settings: Policy
) -> Definition | None:
    before = catalogue.find_metric(name) if name else None
    where = read_where(fields.get("where"), settings)
    unit = _read_unit(fields, before)
    better = (
        fields["better"].choice("higher", "lower") if "better" in fields else (before and before.better) or "higher"
    )
    use_case = fields["use_case"].text() if "use_case" in fields else None
    description = read_description(fields)
    if "formula" not in fields:
        if item.is_kind("mapping"):
            item.refuse("policy.missing-key", "a metric without a formula")
        return None
    text = fields["formula"].text()
    expression = None if text is None else fields["formula"].attempt(lambda: parse(text))
    if name is None or text is None or expression is None or unit is None or better not in ("higher", "lower"):
        return None
    other_percentile = before is not None and name not in catalogue.metrics() and before.expression != expression
    if other_percentile and "better" not in fields:  # which direction is meant must not be guessed
        item.refuse(
            "metric.name-taken",
            f"'{name}' is a built-in percentile, and this is another formula",
            "say better: lower or higher",
        )
        return None
    range_ = _read_range(fields["range"].node.text) if "range" in fields else None
    about = use_case or description or ""
    metric = Metric(name, text.strip(), expression, unit, better, about, where=where, range=range_)  # type: ignore[arg-type]
    return Definition(metric, fields["formula"], fields.get("typical_threshold"))


def _read_unit(fields: Mapping[str, Cursor], before: Metric | None) -> Unit | None:
    """The unit from `unit` and `range`, else that of the built-in metric it replaces, else a plain number."""
    named = fields["unit"].choice(*_UNITS) if "unit" in fields else None
    text = fields["range"].text() if "range" in fields else None
    if text is not None and _read_range(text) is None:
        fields["range"].refuse(
            "metric.bad-range", f"found '{text}', wanted the least and the greatest value", "write 0-100%, 0-1 or 1-5"
        )
        return None
    if (named is None and "unit" in fields) or (text is None and "range" in fields):
        return None
    by_unit = None if named is None else _UNITS[named]
    if text is None:
        return by_unit or (before.unit if before else "number")
    if not _RATIO_RANGE.fullmatch(text.strip()):
        return by_unit or "number"
    if by_unit not in (None, "ratio"):
        fields["range"].refuse("metric.bad-range", f"the range {text} is that of a ratio, but the unit is {by_unit}")
        return None
    return "ratio"


def _read_range(text: str) -> tuple[Fraction, Fraction] | None:
    """The two ends of `0-100%`, `0-1` or `1-5`; None if the text is not a range, or the ends are not in order."""
    if _RATIO_RANGE.fullmatch(text.strip()):
        return Fraction(0), Fraction(1)
    found = _NUMBER_RANGE.fullmatch(text.strip())
    low, high = (Fraction(end) for end in found.groups()) if found else (Fraction(0), Fraction(0))
    return (low, high) if low < high else None


def add_weighted_score(cursor: Cursor | None, weights: Mapping[str, Fraction], table: MetricTable) -> None:
    """Add weighted_score to the table. It can only average ratios that are better when higher."""
    if cursor is None:
        return
    if WEIGHTED_SCORE in table.metrics:
        cursor.refuse("metric.name-taken", f"'{WEIGHTED_SCORE}' is defined under metrics as well")
    if len(weights) > MOST_WEIGHTS:
        cursor.refuse("policy.out-of-range", f"found {len(weights)} metrics, wanted at most {MOST_WEIGHTS}")
    if not 0 < len(weights) <= MOST_WEIGHTS:
        table.broken.add(WEIGHTED_SCORE)
        return
    for name in weights:
        at = cursor.key_place(name)
        if name == WEIGHTED_SCORE:
            cursor.refuse("formula.cycle", f"'{WEIGHTED_SCORE}' cannot be a part of itself", at=at)
            continue
        metric = table.look_up(cursor, name, at)
        if metric and (metric.unit != "ratio" or metric.better != "higher"):
            message = f"'{name}' cannot be averaged with others, wanted ratios that are better when higher"
            cursor.refuse(
                "formula.wrong-operand", message, f"define a metric such as 1 - {name} with range: 0-100%", at
            )
    table.metrics[WEIGHTED_SCORE] = catalogue.weighted_score(weights)


def check_formulas(definitions: Iterable[Definition], table: MetricTable) -> None:
    """Refuse formulas with unknown names, that do not depend on the results, or that depend on themselves."""
    definitions = list(definitions)
    for definition in definitions:
        check_names(definition.formula, definition.metric.expression, table)
        if not rests_on_results(definition.metric.expression):
            message = f"'{definition.metric.formula}' names no measure, so it is the same for any results"
            definition.formula.refuse(
                "formula.constant", message, "divide one measure by another, such as correct_outputs / total_outputs"
            )
    _check_columns(definitions)
    _check_cycles({definition.metric.name: definition.formula for definition in definitions}, table)


def _check_columns(definitions: Iterable[Definition]) -> None:
    """Refuse metrics that are the mean or a percentile of the same column and disagree on its worse end.

    A crash counts at that end, and it is the same crash for both metrics.
    """
    first: dict[str, Metric] = {}
    for definition in definitions:
        metric = definition.metric
        match metric.expression:
            case Call("mean" | "percentile", (Name(column), *_)):
                other = first.setdefault(column, metric)
                differs = (
                    metric.range and other.range and metric.range != other.range
                ) or metric.better != other.better
                if differs and column not in catalogue.BOUNDED_COLUMNS:
                    message = f"'{metric.name}' and '{other.name}' disagree on which end of '{column}' is worse"
                    definition.formula.refuse(
                        "metric.bad-range", message, "give both the same `range` and the same `better`"
                    )


def rests_on_results(node: Expression | Condition) -> bool:
    """Whether a formula depends on the results. If not, it would judge any results the same."""
    return any(isinstance(leaf, Call) or leaf.name not in SETTINGS for leaf in leaves(node))


def measures_in(
    node: Expression | Condition, metrics: Mapping[str, Metric], where: Where = ()
) -> Iterator[tuple[Name | Call, Where]]:
    """The measures in a formula, with the metrics in it expanded; each with its filter on scenarios."""
    for leaf in leaves(node):
        metric = metrics.get(leaf.name) if isinstance(leaf, Name) else None
        if metric is not None:
            yield from measures_in(metric.expression, metrics, catalogue.narrow(where, metric.where))
        elif not (isinstance(leaf, Name) and leaf.name in SETTINGS):
            yield leaf, where


def check_names(cursor: Cursor, node: Expression | Condition, table: MetricTable) -> None:
    """Refuse names in `node`, the formula at `cursor`, that are no measure, setting, metric or suitable column."""
    judged = isinstance(node, Relation | Logic)
    for leaf in leaves(node):
        if isinstance(leaf, Call):
            _check_column(cursor, leaf, table.allow_columns)
        elif not table.knows(leaf.name):
            hint = _hint(cursor, leaf.name, table, judged=judged)
            cursor.refuse("formula.unknown-name", f"unknown name '{leaf.name}'", hint, _place(cursor, leaf.name))


def _hint(cursor: Cursor, name: str, table: MetricTable, *, judged: bool) -> str:
    if name in (WEIGHTED_SCORE, FINAL_SCORE):
        return table.hint(name, cursor) or ""
    meant = table.meant(name)
    if meant and (judged or meant != FINAL_SCORE):  # the formula of final_score cannot name itself
        return f"did you mean '{meant}'?"
    if name in catalogue.SUMMED_COLUMNS:
        return f"'{name}' is a column: write mean({name}) or sum({name})"
    meant = cursor.suggest(name, [*MEASURES, *SETTINGS, *table.metrics])
    return meant or f"if it is a column of the results, write mean({name}) or sum({name})"


def _check_column(cursor: Cursor, leaf: Call, allowed: frozenset[str]) -> None:
    first = leaf.arguments[0]
    column = first.name if isinstance(first, Name) else ""
    known = catalogue.RANKED_COLUMNS if leaf.function == "percentile" else catalogue.SUMMED_COLUMNS
    if column in known or column in allowed or (leaf.function != "percentile" and catalogue.is_repeated(column)):
        return
    of_ours = COLUMN_NAMES | catalogue.SUMMED_COLUMNS
    if column in of_ours or catalogue.is_repeated(column):
        message = f"{leaf.function} cannot be taken of '{column}'"
        cursor.refuse(
            "formula.wrong-operand", message, f"columns it takes: {', '.join(sorted(known))}", _place(cursor, column)
        )
    elif missed := near_miss(column, of_ours | set(MEASURES)):
        cursor.refuse(
            "policy.misspelled", f"'{column}' is nearly '{missed}'", f"did you mean '{missed}'?", _place(cursor, column)
        )


def _place(cursor: Cursor, name: str) -> Place:
    """The place of `name` in the formula at `cursor`."""
    found = re.search(rf"\b{re.escape(name)}\b", cursor.node.text)
    return cursor.node.place_at(cursor.file, found.start() if found else 0)


def _check_cycles(formulas: Mapping[str, Cursor], table: MetricTable) -> None:
    if not formulas:  # built-in metrics have no cycle
        return
    from graphlib import CycleError, TopologicalSorter  # only if a policy has formulas

    uses = {name: names(metric.expression) & table.metrics.keys() for name, metric in table.metrics.items()}
    while True:  # each error has one cycle: report it, remove it, and look for the next
        try:
            order = list(TopologicalSorter(uses).static_order())
            break
        except CycleError as error:
            cycle = list(reversed(error.args[1]))
            cursor = next((formulas[name] for name in cycle if name in formulas), None)
            if cursor:
                cursor.refuse("formula.cycle", f"the formula needs itself: {' → '.join(cycle)}")
            table.broken.update(cycle)
            uses = {name: used - set(cycle) for name, used in uses.items() if name not in cycle}
    _check_chain(order, uses, formulas)


def _check_chain(order: Iterable[str], uses: Mapping[str, frozenset[str]], formulas: Mapping[str, Cursor]) -> None:
    """Refuse the formulas at which chains of metrics become too long; `order` has what a metric uses before it."""
    depth: dict[str, int] = {}
    for name in order:
        depth[name] = 1 + max((depth[used] for used in uses[name]), default=0)
        if depth[name] > MOST_CHAIN and name in formulas:  # weighted_score, which may be in a chain, is not
            formulas[name].refuse("formula.cycle", f"the formula needs a chain of more than {MOST_CHAIN} metrics")
            depth[name] = 0  # one problem is enough: the metrics after it count on from here
