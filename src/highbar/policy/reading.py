"""A policy's tree in, a checked Policy out; every problem at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from highbar import catalogue
from highbar.catalogue import CATEGORIES
from highbar.documents.files import read_tree
from highbar.documents.python_values import from_values
from highbar.documents.tree import Node
from highbar.errors import InputError, Problem
from highbar.language.formula import names
from highbar.language.threshold import read as read_threshold
from highbar.model import (
    BaselineRule,
    DriftRule,
    JudgePolicy,
    JudgeRule,
    Level,
    NewFailuresRule,
    Policy,
    ProgressiveRule,
    QuarantineRule,
    Rule,
    StepRule,
    SuiteRule,
    ThresholdRule,
    Weights,
    Where,
)
from highbar.model.rules import demands_of
from highbar.policy.composite import CompositePart, read_composite
from highbar.policy.crashes import refuse_helpful_crashes
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.files import find_here
from highbar.policy.metrics import Definition, MetricTable, add_weighted_score, check_formulas, read_definitions
from highbar.policy.notes import notes_on, time_notes
from highbar.policy.rules import RISK_LEVELS, RuleReader, scenario_rules
from highbar.policy.selecting import read_select, with_rows
from highbar.policy.sequential import refuse_sequential
from highbar.policy.settings import (
    LIMITS,
    SEQUENTIAL_KEYS,
    read_settings,
    read_weights,
    refuse_without_effect,
)
from highbar.policy.shapes import top_hints
from highbar.policy.suite import read_suite
from highbar.policy.versions import HINT, order, resolve_steps

if TYPE_CHECKING:  # see _read_mapping
    from highbar.model.judging import ScorerDemand
    from highbar.model.mapping import RowMap
    from highbar.model.quarantine import LastDays

COMMON_KEYS = (
    "thresholds",
    "pass_criteria",
    "required_scenarios",
    "rules",
    "suite",
    "baseline",
    "metrics",
    "slices",
    "evidence",
    "description",
)
"""The keys that most policies need (docs/how-to/ten-keys.md)."""
KEYS = (
    *COMMON_KEYS,
    "optional_scenarios",
    "risk",
    "progressive",
    "agent",
    "agent_version",
    "composite",
    "weights",
    "confidence",
    *SEQUENTIAL_KEYS,
    "seed",
    "population",
    "answers",
    "positive",
    "pass_score",
    "trials",
    *LIMITS.values(),
    "allow_columns",
    "allow_categories",
    "map",
    "select",
    "judged_by",
    "judge",
    "quarantine",
    "history",
)
BASELINE = "baseline.json"
HISTORY = "history"
HISTORY_KEYS = ("drift", "folder", "description")
_A_METRIC = "the definition of a metric goes into the list metrics: [ { name: …, formula: … } ]"
_HINTS = {
    "name": _A_METRIC,
    "formula": _A_METRIC,
    "typical_threshold": _A_METRIC,
    "ids": "put it under required_scenarios or optional_scenarios",
    "blocking": "put it under thresholds",
    "warning": "put it under thresholds",
    **dict.fromkeys(RISK_LEVELS, "put it under risk"),
    "overall": "put it under pass_criteria",
    "by_category": "put it under pass_criteria or weights",
}


def read(path: Path | str, data: bytes | None = None) -> Policy:
    """The policy in a file, YAML or JSON by its name. Raises InputError with every problem that it has.

    If `data` is given, it replaces the content of the file, which is not read.
    """
    path = Path(path)
    try:
        document = read_tree(path, data=data)
        policy = _read(document.root, str(path), document.sha256, path.parent, document.problems)
    except InputError as error:
        from highbar.documents.excerpts import with_excerpts  # only if something is wrong

        raise with_excerpts(error, {} if data is None else {str(path): data}) from None
    return replace(policy, text=document.text)


def read_dict(mapping: Mapping[str, Any], folder: Path | None = None) -> Policy:
    """The policy in a dict, with the keys of a file; files it names are relative to `folder`. Raises InputError."""
    try:
        return _read(from_values(mapping), None, None, folder or Path(), ())
    except InputError as error:
        from highbar.documents.excerpts import with_excerpts  # only if something is wrong

        raise with_excerpts(error) from None


TYPICAL = "typical"
"""The value of `--policy` that means the typical thresholds."""


def read_named(name: str) -> Policy:
    """The policy in the file of that name, or the typical thresholds if the name is `typical`. Raises InputError."""
    if name != TYPICAL:
        return read(Path(name))
    if Path(name).is_file():
        hint = f"write ./{TYPICAL} for the file, or rename it"
        message = f"--policy {TYPICAL} means the typical thresholds, and there is a file of that name"
        raise InputError(Problem("policy.two-files", message, hint=hint))
    return default()


def choose(policy: str | Mapping[str, Any] | Policy | None, where: Sequence[str] = ()) -> Policy:
    """The policy to judge by, for the rows that `where` selects. Raises InputError.

    `policy` is a policy, its content, the name of a file, or `typical`. If it is None, this is the policy of the
    working folder, or if there is none the typical thresholds, which only advise.
    """
    if isinstance(policy, Policy):
        chosen = policy
    elif isinstance(policy, Mapping):
        chosen = read_dict(policy)
    elif policy is not None:
        chosen = read_named(policy)
    else:
        found = find_here()
        chosen = replace(default(), advisory=True) if found is None else read(found)
    return with_rows(chosen, where) if where else chosen


def without_rules(policy: Policy) -> Policy:
    """The policy for scoring one side of a comparison: without rules and without an agent version.

    The columns by which rules select scenarios become slices, because the rules are judged on the pairs later.
    """
    chosen = tuple(dict.fromkeys((*policy.slices, *chosen_by(policy))))
    return replace(policy, rules=(), agent_version=None, slices=chosen)


def resolve_version(policy: Policy, given: str | None = None, recorded: str | None = None) -> Policy:
    """The policy for one agent version: `given`, else that of the policy, else the one `recorded` in the results.

    Raises InputError if a progressive rule has no version, or one that cannot be read.
    """
    # An empty version, as from a variable that is not set, must fail, not fall back to another version.
    version = given if given is not None else policy.agent_version or recorded
    policy = replace(policy, agent_version=version)
    progressive = any(isinstance(rule, ProgressiveRule) for rule in policy.rules)
    return resolve_steps(policy, recorded) if progressive else policy


def is_typical(policy: Policy) -> bool:
    """Whether the policy is the typical thresholds, not a file."""
    return policy.file == TYPICAL and policy.sha256 is None


def default(metrics: Collection[str] | None = None) -> Policy:
    """The typical thresholds as a policy; if `metrics` are given, only the thresholds of those.

    They block, except for times, which only warn.
    """
    builtin = catalogue.metrics()
    rules = tuple(
        ThresholdRule(
            f"default.{name}",
            "warning" if metric.unit == "ms" else "blocking",
            name,
            read_threshold(metric.typical_threshold, metric),
        )
        for name, metric in builtin.items()
        if metric.typical_threshold and (metrics is None or name in metrics)
    )
    return Policy(rules, builtin, file=TYPICAL)


def baseline_file(policy: Policy, named: str | None = None) -> Path:
    """The path of the baseline: `named`, else the file in the baseline block, else baseline.json beside the policy."""
    if not named and policy.comparing:
        named = policy.comparing[0].file
    return Path(named) if named else Path(policy.file or "").parent / BASELINE


def categories(policy: Policy) -> frozenset[str]:
    """The usual categories, and all that the policy or its suite names."""
    named = {value for where in _wheres(policy) for column, values in where if column == "category" for value in values}
    suite = policy.suite.scenarios.values() if policy.suite else ()
    fixed = {columns["category"] for columns in suite if "category" in columns}
    return frozenset({*CATEGORIES, *named, *fixed, *policy.weights.by_category, *policy.allow_categories})


def chosen_by(policy: Policy) -> tuple[str, ...]:
    """The columns by which rules and metrics select scenarios."""
    return tuple(dict.fromkeys(column for where in _wheres(policy) for column, _ in where))


def named_columns(policy: Policy) -> frozenset[str]:
    """The columns that the policy names: to slice by, to select by, or as meant."""
    return frozenset({*policy.slices, *chosen_by(policy), *(name for name, _ in policy.select), *policy.allow_columns})


def _wheres(policy: Policy) -> Iterator[Where]:
    """The filters on scenarios of rules and metrics."""
    yield from (rule.where for rule in policy.rules if isinstance(rule, ThresholdRule | BaselineRule | StepRule))
    yield from (metric.where for metric in policy.metrics.values())


def _read(root: Node, file: str | None, sha256: str | None, folder: Path, found: tuple[Problem, ...]) -> Policy:
    problems = list(found)
    cursor = Cursor(root, "", file, problems)
    if root.kind == "null":
        cursor.refuse("policy.no-rule", "the policy is empty", "highbar init writes one to start from")
        raise InputError(*problems)
    top = cursor.fields(KEYS, lambda: {**_HINTS, **top_hints(cursor, KEYS)})
    policy = _build(cursor, top, folder)
    if problems:
        # A stable sort: problems of one line stay in the order in which they were found. Other files come last.
        raise InputError(*sorted(problems, key=lambda problem: (problem.file != file, problem.line or 0)))
    return replace(policy, file=file, sha256=sha256)


def _build(cursor: Cursor, top: Mapping[str, Cursor], folder: Path) -> Policy:
    settings, demand = read_settings(top)
    weights = read_weights(top.get("weights"), settings)
    table = MetricTable(allow_columns=settings.allow_columns)
    definitions, composite = _read_metrics(top, settings, weights, table)
    suite = read_suite(top["suite"], folder, settings) if "suite" in top else None
    reader = RuleReader(settings, demand, table)
    judge, of_judge = _read_judge(top.get("judge"), folder)
    rules = _read_rules(top, folder, reader, definitions, composite)
    quarantine, of_quarantine = _read_quarantine(top.get("quarantine"), rules)
    if "latency_limit" in top:
        reader.notes.extend(time_notes(top["latency_limit"], settings.latency_limit))
    if not rules and not cursor.problems:
        message = "the policy has no rule, so there is nothing to judge"
        cursor.refuse("policy.no-rule", message, "for example thresholds: { pass_rate: 85% }")
    _check_version(top, settings, rules)
    if any(each.is_sequential for rule in rules for each in demands_of(rule)):
        refuse_sequential(cursor, top, rules, suite, table.metrics)
    else:
        for key in (key for key in (*SEQUENTIAL_KEYS, "seed") if key in top):
            refuse_without_effect(top[key], key)
    policy = replace(
        settings,
        rules=(*rules, *of_judge, *of_quarantine, *_read_history(top.get("history"), folder, rules)),
        metrics=table.metrics,
        weights=weights,
        suite=suite,
        mapping=_read_mapping(top.get("map"), settings),
        select=read_select(top["select"], settings.allow_columns) if "select" in top else (),
        judged_by=_read_judged_by(top.get("judged_by")),
        judge=judge,
        quarantine=quarantine,
        notes=tuple(reader.notes),
    )
    # Names are known only if there is no problem. A crash can help only in a formula that is written here.
    if (definitions or composite.definition) and not cursor.problems:
        refuse_helpful_crashes(cursor, policy, definitions, composite)
    return policy if cursor.problems else notes_on(policy)


def _read_mapping(cursor: Cursor | None, settings: Policy) -> RowMap | None:
    if cursor is None:
        return None
    from highbar.policy.mapping import read_mapping  # few policies have one, and it takes 5 ms to load

    return read_mapping(cursor, settings.allow_columns)


def _read_judged_by(cursor: Cursor | None) -> Mapping[str, tuple[ScorerDemand, ...]]:
    if cursor is None:
        return {}
    from highbar.policy.judged_by import read_judged_by  # few policies have one

    return read_judged_by(cursor)


def _read_judge(cursor: Cursor | None, folder: Path) -> tuple[JudgePolicy | None, tuple[JudgeRule, ...]]:
    """The block `judge`. Its rules are not about the agent, so a policy with only those has nothing to judge."""
    if cursor is None:
        return None, ()
    from highbar.policy.judge import read_judge  # few policies have one

    return read_judge(cursor, folder)


def _read_quarantine(
    cursor: Cursor | None, rules: Sequence[Rule]
) -> tuple[LastDays | None, tuple[QuarantineRule, ...]]:
    """The block `quarantine`. Its rule is not about the agent either."""
    if cursor is None:
        return None, ()
    from highbar.policy.quarantine import read_quarantine  # few policies have one

    return read_quarantine(cursor, rules)


def _read_history(cursor: Cursor | None, folder: Path, rules: Sequence[Rule]) -> tuple[DriftRule, ...]:
    """The rule `history.drift`. If the baseline block names a history too, it must be the same folder."""
    if cursor is None:
        return ()
    fields = cursor.fields(HISTORY_KEYS)
    description = read_description(fields)
    name = (fields["folder"].text() if "folder" in fields else None) or HISTORY
    word = fields["drift"].choice("fail", "warn") if "drift" in fields else None
    if "drift" not in fields and cursor.is_kind("mapping"):
        cursor.refuse("policy.missing-key", "no drift", "history: { drift: fail }")
    if word is None:
        return ()
    if any(isinstance(rule, NewFailuresRule) and rule.history not in (None, name) for rule in rules):
        cursor.refuse("policy.conflict", "the baseline block names another history", "name one folder in both")
    level: Level = "blocking" if word == "fail" else "warning"
    return (DriftRule("history.drift", level, name, str(folder / name), cursor.place, description),)


def _read_metrics(
    top: Mapping[str, Cursor], settings: Policy, weights: Weights, table: MetricTable
) -> tuple[list[Definition], CompositePart]:
    definitions = read_definitions(top.get("metrics"), settings, table)
    composite = read_composite(top["composite"], table) if "composite" in top else CompositePart()
    by_metric = top["weights"].child("by_metric") if "weights" in top else None
    add_weighted_score(by_metric, weights.by_metric, table)
    check_formulas([*definitions, *([composite.definition] if composite.definition else [])], table)
    return definitions, composite


def _read_rules(
    top: Mapping[str, Cursor],
    folder: Path,
    reader: RuleReader,
    definitions: list[Definition],
    composite: CompositePart,
) -> list[Rule]:
    scenarios = scenario_rules(top.get("required_scenarios"), top.get("optional_scenarios"))
    rules = [
        *(reader.thresholds(top["thresholds"]) if "thresholds" in top else []),
        *(reader.risk(top["risk"]) if "risk" in top else []),
        *(reader.progressive(top["progressive"]) if "progressive" in top else []),
        *(reader.pass_criteria(top["pass_criteria"]) if "pass_criteria" in top else []),
        *scenarios,
        *reader.composite(composite),
        *([SuiteRule("suite", "blocking", top["suite"].place)] if "suite" in top else []),
        *(reader.baseline(top["baseline"], folder, scenarios) if "baseline" in top else []),
        *(reader.listed(top["rules"]) if "rules" in top else []),
    ]
    judged = names(composite.condition) if composite.condition else frozenset()
    return [*rules, *reader.typical(definitions, rules, judged)]


def _check_version(top: Mapping[str, Cursor], settings: Policy, rules: list[Rule]) -> None:
    progressive = any(isinstance(rule, ProgressiveRule) for rule in rules)
    if progressive and settings.agent_version and order(settings.agent_version) is None:
        message = f"the version '{settings.agent_version}' cannot be read"
        top["agent_version"].refuse("version.unreadable", message, HINT)
