"""The verdict on one line, for a chat message: what came out, and which rules did not pass, with their values.

A chat obeys `@here`, `<!channel>` and links. Names come from the policy, and nothing from the results stands here; all
the same every character of a name that is not plain is written out.
"""

from __future__ import annotations

import re

from highbar.language.digits import amount, bounds_by_metric, wanted
from highbar.model import RuleResult, Verdict
from highbar.report.headline import headline, not_passed
from highbar.report.visible import cut, visible

_MOST_RULES = 3
_LONGEST_NAME = 60
# Inside a word `:` and `/` are plain: `origin/main:suite` is a rule at a git ref, and no link without `://`.
_NOT_PLAIN = re.compile(r"(?![\w.\-\[\]* \\]|(?<=\w)[:/](?=\w))[\x21-\x7e]")


def render(verdict: Verdict) -> str:
    """The line, without its end."""
    missed = [rule for rule in not_passed(verdict.rules) if rule.level == "blocking"]
    rules = [_rule(rule) for rule in missed[:_MOST_RULES]]
    rest = [f"{len(missed) - _MOST_RULES} more"] if len(missed) > _MOST_RULES else []
    left = [f"{verdict.counts.left_out} rows left out"] if verdict.selection else []
    return "; ".join([headline(verdict), *rules, *rest, *left])


def _rule(rule: RuleResult) -> str:
    """`thresholds.blocking.safety_rate 83.3%, wanted ≥ 100%`; only the name if the rule is not about one number."""
    name = _NOT_PLAIN.sub(lambda match: f"\\x{ord(match[0]):02x}", cut(visible(rule.rule), _LONGEST_NAME))
    value = rule.value
    if value is None:
        return name
    bounds = bounds_by_metric([rule]).get(rule.metric or "", ())
    shown = "undefined" if value.value is None else amount(value.value, value.unit, bounds)
    demanded = wanted(rule.threshold or "", value.unit)
    return f"{name} {shown}, wanted {demanded}" if demanded else f"{name} {shown}"
