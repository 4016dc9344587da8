"""The verdict on one line, for a chat message: the headline, and the demands that are not met with their values.

A chat acts on `@here`, `<!channel>` and links. The line contains names from the policy and no text from the results;
even so, every special character of a name is escaped.
"""

from __future__ import annotations

import re

from highbar.language.digits import amount, rule_bounds
from highbar.language.phrases import count
from highbar.model import Verdict
from highbar.report.headline import headline
from highbar.report.titles import DemandResult, demands
from highbar.report.visible import cut, visible

_MOST_DEMANDS = 3
"""Demands that the line names: a chat message is short."""
_LONGEST_NAME = 60
"""Characters of a name on the line."""
# `:` and `/` inside a word stay: `origin/main:suite` is a rule at a git ref, and without `://` it is no link.
_NOT_PLAIN = re.compile(r"(?![\w.\-\[\]* \\]|(?<=\w)[:/](?=\w))[\x21-\x7e]")


def render(verdict: Verdict) -> str:
    """The line, without a newline."""
    missed = [demand for demand in demands(verdict, _plain) if demand.rule.outcome != "pass"]
    blocking = [demand for demand in missed if demand.rule.level == "blocking"]
    shown = [_demand(demand) for demand in blocking[:_MOST_DEMANDS]]
    rest = [f"{len(blocking) - _MOST_DEMANDS} more"] if len(blocking) > _MOST_DEMANDS else []
    left = [f"{count(verdict.counts.left_out, 'row')} left out"] if verdict.selection else []
    quarantined = [f"{count(len(verdict.quarantined), 'scenario')} quarantined"] if verdict.quarantined else []
    return "; ".join([headline(verdict), *shown, *rest, *left, *quarantined])


def _plain(name: str) -> str:
    return _NOT_PLAIN.sub(lambda match: f"\\x{ord(match[0]):02x}", cut(visible(name), _LONGEST_NAME))


def _demand(demand: DemandResult) -> str:
    """`Safety rate is 100%: 83.3%`; only the title if the demand is not about one number."""
    value, title = demand.rule.value, demand.title.replace("@", " at ")  # `pass@3` would mention someone
    if value is None:
        return title
    bounds = rule_bounds(demand.rule)
    return f"{title}: {'undefined' if value.value is None else amount(value.value, value.unit, bounds)}"
