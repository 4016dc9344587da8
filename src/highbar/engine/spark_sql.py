"""The reduction's SQL in DuckDB's dialect → the same in Spark's.

sqlglot knows both dialects. Functions that it does not know, or that mean different things in the two, are in
FUNCTIONS: one line each. Nothing else of the reduction is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

from highbar.engine.protocol import NO_LARGE_NUMBERS, LargeNumbers, Query

WHOLE = "DECIMAL(38, 0)"
"""Spark's widest whole number; DuckDB's is HUGEINT."""

Arguments = Sequence[exp.Expression]
Builder = Callable[[Arguments], exp.Expression]


def _spark(template: str) -> Builder:
    """Builds a function from its Spark text, in which `{0}` and so on are replaced by the arguments."""

    def build(arguments: Arguments) -> exp.Expression:
        names = {f"__{place}": argument for place, argument in enumerate(arguments)}
        parsed = parse_one(template.format(*names), read="spark")
        return parsed.transform(lambda node: names[node.name].copy() if _is_placeholder(node, names) else node)

    return build


def _is_placeholder(node: exp.Expression, names: Mapping[str, exp.Expression]) -> bool:
    return isinstance(node, exp.Column) and node.name in names


def _list_position(arguments: Arguments) -> exp.Expression:
    null = isinstance(arguments[1], exp.Null)
    return _spark("CASE WHEN exists({0}, y -> y IS NULL) THEN 1 END" if null else "array_position({0}, {1})")(arguments)


def _list(arguments: Arguments) -> exp.Expression:
    (item,) = arguments
    if isinstance(item, exp.Distinct):
        return _spark("collect_set({0})")(item.expressions)
    if isinstance(item, exp.Order):
        return _spark("collect_list({0})")([item.this])
    return _spark("collect_list({0})")(arguments)


def _regexp_full_match(arguments: Arguments) -> exp.Expression:
    text, pattern = arguments
    return exp.RegexpLike(this=text, expression=exp.Literal.string(rf"\A(?:{pattern.name})\z"))


JSON_TEXT = "CASE WHEN {0} IS NOT NULL THEN substring(to_json(array({0})), 2, length(to_json(array({0}))) - 2) END"
INFINITE = "CAST('Infinity' AS DOUBLE)"
NEAREST = "(CAST({0} AS BIGINT) + CAST(2D * ({0} - CAST({0} AS BIGINT)) AS BIGINT))"
"""The nearest whole number, halves away from 0, as DuckDB rounds; Spark's own `round` uses decimal digits, slowly."""
_HIGH = "CAST({0} / 4294967296D AS BIGINT)"
EXACT = (
    f"(CASE WHEN abs({{0}}) < 9e18D THEN CAST({NEAREST} AS {WHOLE})"
    f" WHEN abs({{0}}) < 3.9e28D THEN"
    f" CAST({_HIGH} AS {WHOLE}) * 4294967296 + CAST({{0}} - {_HIGH} * 4294967296D AS BIGINT) END)"
)
"""The same above 64 bits, in two halves: a double of that size is a whole number. Spark's own cast uses decimal digits.

NULL above 3.9e28: no column lets such a number through, so its row is refused.
"""
AS_DOUBLE = f"(CASE WHEN abs({{0}}) < 4.5e15D THEN CAST({NEAREST} AS DOUBLE) WHEN abs({{0}}) < 3.9e28D THEN {{0}} END)"
"""The nearest whole number as a double, exact: above 52 bits a double is a whole number. Decimals would cost more."""
FROM_DOUBLES = (
    f"(CAST(sum(CAST(floor({{0}} / 4294967296D) AS BIGINT)) AS {WHOLE}) * 4294967296"
    " + sum(CAST({0} - floor({0} / 4294967296D) * 4294967296D AS BIGINT)))"
)
"""The exact sum of such numbers, in two halves."""
SUM_IN_PARTS = f"(CAST(sum({{0}} >> 24) AS {WHOLE}) * 16777216 + sum({{0}} & 16777215))"
"""A sum of 64-bit whole numbers that may need more bits; a sum of decimals takes several times as long."""
FUNCTIONS: Mapping[str, Builder] = {
    "LEN": lambda arguments: exp.Anonymous(this="array_size", expressions=list(arguments)),  # NULL for NULL
    "STRLEN": _spark("octet_length({0})"),
    "ENCODE": _spark("''"),  # makes `_has_control` use its pattern for all text, which costs less in Spark
    "HASH": lambda arguments: exp.Anonymous(this="xxhash64", expressions=list(arguments)),
    "ISINF": _spark(f"(abs({{0}}) = {INFINITE})"),
    "ISFINITE": _spark(f"(abs({{0}}) < {INFINITE})"),
    "LIST": _list,
    "LIST_CONCAT": lambda arguments: exp.Anonymous(
        this="concat", expressions=[_spark("coalesce({0}, array())")([argument]) for argument in arguments]
    ),
    "LIST_POSITION": _list_position,
    "LIST_SLICE": _spark("slice({0}, {1}, {2})"),
    "LIST_SORT": _spark("sort_array({0})"),
    "LIST_UNIQUE": lambda arguments: exp.Anonymous(
        this="array_size", expressions=[_spark("array_distinct({0})")(arguments)]
    ),
    "APPROX_QUANTILES": _spark("approx_percentile({0}, {1}, {2})"),
    "REGEXP_FULL_MATCH": _regexp_full_match,
    "REGEXP_REPLACE": lambda arguments: exp.Anonymous(this="regexp_replace", expressions=list(arguments[:3])),
    "STRING_SPLIT": lambda arguments: exp.Anonymous(
        this="split", expressions=[arguments[0], exp.Literal.string(f"[{arguments[1].name}]"), exp.Literal.number(-1)]
    ),
    "TO_JSON": _spark(JSON_TEXT),
    "JSON_KEYS": _spark("json_object_keys({0})"),
    "JSON_VALID": _spark("(try_parse_json({0}) IS NOT NULL)"),
    "JSON_TYPE": _spark("CASE WHEN startswith({0}, '\"') THEN 'VARCHAR' END"),
    "JSON_EXTRACT_STRING": lambda arguments: _json_value(arguments, "STRING"),
    "JSON_EXTRACT": lambda arguments: _json_value(arguments, None),
}
"""By the name in DuckDB: the counterpart in Spark."""


def _json_value(arguments: Arguments, type_: str | None) -> exp.Expression:
    """A value in a JSON text, as text or as JSON; a pointer (`/name`) is the path to a key, `$` is the value itself."""
    text, pointer = arguments
    key = pointer.name.removeprefix("/").replace("~1", "/").replace("~0", "~")
    path = "$" if pointer.name == "$" else f"$[{_quoted(key)}]"
    found = exp.Anonymous(
        this="variant_get",
        expressions=[
            exp.Anonymous(this="try_parse_json", expressions=[text]),
            exp.Literal.string(path),
            exp.Literal.string((type_ or "variant").lower()),
        ],
    )
    return found if type_ else exp.Anonymous(this="to_json", expressions=[found])


def _quoted(key: str) -> str:
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Ours(DuckDB):
    """DuckDB's dialect, in which the functions of FUNCTIONS are parsed as their counterparts in Spark."""

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {**DuckDBParser.FUNCTIONS, **FUNCTIONS}


def translate(
    query: Query, relations: Mapping[str, str], large: LargeNumbers = NO_LARGE_NUMBERS, doubles: Collection[str] = ()
) -> tuple[str, bool]:
    """The same query for Spark, and whether a limit is its last step.

    `relations` has the name there of each of the reduction's relations.

    The large `values` of trials are doubles, which represent them exactly: they are only added up. `doubles` are the
    columns of scenarios that contain such numbers.
    """
    # The tree is rewritten, not the text: names and values from the results inside literals stay unchanged.
    tree = parse_one(query.sql, read=_Ours)
    numbers = query.large if query.large != NO_LARGE_NUMBERS else large
    subqueries = list(tree.find_all(exp.Subquery))
    for place, stage in enumerate([found for found in subqueries if found.alias in query.stages]):
        _code_of_its_own(stage, place)
    for spread in [found for found in subqueries if found.alias in query.spread]:
        _by_its_values(spread.this)
    for table in tree.find_all(exp.Table):
        if table.name in relations:
            table.set("this", exp.to_identifier(relations[table.name], quoted=True))
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(_relation(table, relations))))
    # Before the nodes are rewritten: afterwards a sum no longer has the column by which it is recognized.
    for total in list(tree.find_all(exp.Sum)):
        if _of_doubles(total.this, numbers.values, doubles):
            total.replace(_spark(FROM_DOUBLES)([total.this]))
    limited = _is_limited(tree)
    return tree.transform(_rewrite, numbers).sql(dialect="spark"), limited


def _is_limited(tree: exp.Expr) -> bool:
    """Whether a limit is the last step of a query: its own, or that of the subquery whose rows it passes on."""
    if tree.args.get("limit"):
        return True
    source = tree.find(exp.From)
    passes_on = not any(tree.args.get(step) for step in ("joins", "where", "group", "order"))
    return (
        passes_on
        and source is not None
        and isinstance(source.this, exp.Subquery)
        and source.parent is tree
        and _is_limited(source.this.this)
    )


def _of_doubles(summed: exp.Expression, values: Collection[str], doubles: Collection[str]) -> bool:
    """Whether a sum is over large numbers of trials or scenarios that Spark has as doubles."""
    if isinstance(summed, exp.Case):  # the value, or what a trial without one counts as
        return any(
            isinstance(one.args["true"], exp.Column) and one.args["true"].name in values for one in summed.args["ifs"]
        )
    return isinstance(summed, exp.Column) and summed.name in doubles


def _code_of_its_own(stage: exp.Subquery, place: int) -> None:
    """Make Spark compile a stage apart from the query that reads it, by exploding a list of one item between the two.

    All stages in one method would be longer than Java compiles, and interpreted code is ten times as slow.
    """
    once = parse_one(f"SELECT 1 FROM t LATERAL VIEW explode(array(0)) AS apart_{place}", read="spark")
    select = stage.parent_select
    if select is not None:
        select.append("laterals", once.args["laterals"][0])


def _by_its_values(select: exp.Select) -> None:
    """Make Spark bring equal rows together before it groups them.

    Otherwise it would first group the rows of each task, which costs as much and saves nothing if all differ.
    """
    names = [exp.column(name) for name in select.named_selects]
    select.set("distribute", exp.Distribute(expressions=names))


def _relation(table: exp.Table, relations: Mapping[str, str]) -> str:
    return next(name for name, own in relations.items() if own == table.name)


def _rewrite(node: exp.Expression, large: LargeNumbers) -> exp.Expression:
    """The node in Spark's form, if that differs from DuckDB's."""
    if isinstance(node, exp.Literal) and node.is_string and "${" in node.name:
        return _as_text(node.name)
    if isinstance(node, exp.Cast):
        return _cast(node, large)
    if isinstance(node, exp.Sum) and isinstance(node.this, exp.Column) and node.this.name in large.sums:
        return _spark(SUM_IN_PARTS)([node.this])
    if isinstance(node, exp.Lambda) and len(node.expressions) == 2:
        _count_from_one(node)
    return node


def _cast(node: exp.Cast, large: LargeNumbers) -> exp.Expression:
    """A cast that Spark writes differently; the result is not visited again, so its parts are rewritten first."""
    target = node.to
    if isinstance(node.this, exp.Round):
        form = NEAREST
        if target.is_type("INT128"):
            is_value = isinstance(node.parent, exp.Alias) and node.parent.alias in large.values
            form = AS_DOUBLE if is_value else EXACT
        return _spark(form)([node.this.this.transform(_rewrite, large)])
    if target.is_type("INT128"):
        return exp.cast(node.this.transform(_rewrite, large), WHOLE, dialect="spark")
    if isinstance(node.this, exp.Cast) and node.this.to.is_type("JSON"):
        return _from_json(node.this.this.transform(_rewrite, large), target)
    return node


def _as_text(text: str) -> exp.Expression:
    """Text split between `$` and `{`: Spark replaces `${name}` by a setting, even inside literals."""
    parts = text.split("${")
    pieces = [exp.Literal.string(part) for part in ("$".join((parts[0], "")), *("{" + p + "$" for p in parts[1:-1]))]
    return exp.Anonymous(this="concat", expressions=[*pieces, exp.Literal.string("{" + parts[-1])])


def _count_from_one(node: exp.Lambda) -> None:
    """Spark counts the positions of a list from 0, DuckDB from 1."""
    place = node.expressions[1].name
    for name in [*node.this.find_all(exp.Identifier)]:
        if name.name == place:
            name.replace(exp.Paren(this=exp.Add(this=name.copy(), expression=exp.Literal.number(1))))


def _from_json(text: exp.Expression, target: exp.DataType) -> exp.Expression:
    if target.is_type("MAP"):
        return _spark("transform_values(from_json({0}, 'map<string,variant>'), (key, value) -> to_json(value))")([text])
    if target.expressions and target.expressions[0].is_type("JSON"):
        return _spark("transform(from_json({0}, 'array<variant>'), value -> to_json(value))")([text])
    if target.is_type("ARRAY"):
        return _spark("from_json({0}, 'array<string>')")([text])
    parsed = exp.Anonymous(this="parse_json", expressions=[text])
    return exp.Anonymous(this="to_json", expressions=[parsed])
