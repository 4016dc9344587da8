"""The policy's `baseline` block: how much worse than a recorded run is accepted, or how much better is demanded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from highbar.language.threshold import read_margin
from highbar.model import BaselineRule, Demand, Metric, NewFailuresRule, Place, Policy, Rule, ScenarioRule, StepRule
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.metrics import MetricTable
from highbar.policy.scenario_ids import read_id
from highbar.policy.settings import attempt_for, read_level, read_where

BASELINE_KEYS = ("file", "margin", "step", "new_failures", "history", "description")
ENTRY_KEYS = ("where", "level", "evidence", "spending", "horizon", "min_scenarios", "description")
NEW_FAILURES_KEYS = ("ids", "level", "description")
EXAMPLES = {"margin": "baseline: { file: baseline.json, margin: { accuracy: 1% } }", "step": "step: { accuracy: 1% }"}

Key = Literal["margin", "step"]
ReadDemand = Callable[[Mapping[str, Cursor], Metric | None], tuple[Demand, str | None]]


class BaselineReader:
    """Reads the block, with the settings and metrics of its policy and its function for reading demands on evidence."""

    def __init__(self, settings: Policy, table: MetricTable, demand: ReadDemand, required: list[Rule]) -> None:
        self.settings = settings
        self.table = table
        self.demand = demand
        self.required = tuple(
            rule.pattern for rule in required if isinstance(rule, ScenarioRule) and rule.level == "blocking"
        )

    def read(self, cursor: Cursor, folder: Path) -> list[Rule]:
        """The rules: `baseline.M` for each margin, `baseline.step.M` for each step, and `baseline.new_failures`."""
        if cursor.is_kind("text"):
            hint = f"write {{ file: {cursor.node.text[:60]}, margin: {{ accuracy: 1% }} }}"
            cursor.refuse_kind("a file and what it is compared by", hint)
            return []
        fields = cursor.fields(BASELINE_KEYS)
        read_description(fields)
        missing = [] if fields.keys() & {"margin", "step", "new_failures"} else ["margin"]
        for key in [*([] if "file" in fields else ["file"]), *missing]:
            if cursor.is_kind("mapping"):
                cursor.refuse("policy.missing-key", f"a baseline without a {key}", EXAMPLES["margin"])
        name = fields["file"].text() if "file" in fields else None
        file = str(folder / (name or ""))
        history = self._history(fields, folder)
        return [
            *self._entries(fields.get("margin"), "margin", file),
            *self._entries(fields.get("step"), "step", file),
            *(self._new_failures(fields["new_failures"], file, history) if "new_failures" in fields else []),
        ]

    def _entries(self, cursor: Cursor | None, key: Key, file: str) -> list[Rule]:
        if cursor and cursor.is_kind("text", "number"):
            cursor.refuse_kind("a mapping (metric: amount)", f"write {key}: {{ accuracy: {cursor.node.text[:20]} }}")
            return []
        entries = cursor.metrics() if cursor else {}
        if cursor and not entries and cursor.is_kind("mapping"):
            cursor.refuse("policy.missing-key", f"no metric has a {key}", "accuracy: 1%")
        prefix = "baseline" if key == "margin" else "baseline.step"
        found: list[Rule] = []
        for metric, entry in entries.items():
            items = entry.items() if entry.is_kind("list") else [entry]
            if entry.is_kind("list") and not items:
                entry.refuse("policy.missing-key", f"no {key} in the list", "1%")
            for place, item in enumerate(items):
                name = f"{prefix}.{metric}" + (f"[{place}]" if place else "")
                rule = self._rule(item, key, name, metric, file, entry.key_at)
                found += [rule] if rule else []
        return found

    def _rule(self, cursor: Cursor, key: Key, name: str, metric_name: str, file: str, at: Place) -> Rule | None:
        metric = self.table.look_up(cursor, metric_name, at)
        fields: dict[str, Cursor] = {key: cursor}
        if cursor.is_kind("mapping"):
            fields = cursor.fields((key, *ENTRY_KEYS))
            if key not in fields:
                cursor.refuse("policy.missing-key", f"no {key}", f"{key}: 1%")
        level = read_level(fields)
        where = read_where(fields.get("where"), self.settings)
        # Here `margin` is the rule itself. The reader of demands would take it for the margin of a threshold.
        demand, description = self.demand({k: v for k, v in fields.items() if k != "margin"}, metric)
        text = fields[key].scalar(f"a {key}") if key in fields else None
        amount = None if text is None else attempt_for(fields[key], metric, lambda known: read_margin(text, known))
        if amount is None:
            return None
        kind = BaselineRule if key == "margin" else StepRule
        return kind(
            name, level, metric_name, amount.value, amount.relative, file, where, cursor.place, demand, description
        )

    def _history(self, fields: Mapping[str, Cursor], folder: Path) -> tuple[str, str] | None:
        """The folder of earlier runs, as written and relative to `folder`; None if the block does not name one."""
        name = fields["history"].text() if "history" in fields else None
        if name is not None and "new_failures" not in fields:
            fields["history"].refuse(
                "policy.no-effect", "history has no effect without new_failures", "add `new_failures: all`"
            )
        return None if name is None else (name, str(folder / name))

    def _new_failures(self, cursor: Cursor, file: str, history: tuple[str, str] | None) -> list[Rule]:
        fields = cursor.fields(NEW_FAILURES_KEYS) if cursor.is_kind("mapping") else {"ids": cursor}
        description, level = read_description(fields), read_level(fields)
        if "ids" not in fields:
            cursor.refuse("policy.missing-key", "no ids", "ids: required")
            return []
        patterns = self._patterns(fields["ids"])
        if not patterns:
            return []
        name = "baseline.new_failures"
        return [NewFailuresRule(name, level, patterns, file, cursor.place, description, *(history or (None, None)))]

    def _patterns(self, cursor: Cursor) -> tuple[str, ...]:
        """The scenarios that must not newly fail: the required ones, all, or those that a list names."""
        if cursor.is_kind("list"):
            found = tuple(text for text, _ in cursor.texts(read_id))
            if not cursor.node.items:
                cursor.refuse("policy.empty-value", "the list is empty")
            return found
        word = cursor.choice("required", "all")
        if word == "required" and not self.required:
            cursor.refuse("policy.conflict", "no scenario is required", "name some in required_scenarios, or write all")
        return {"required": self.required, "all": ("*",)}.get(word or "", ())
