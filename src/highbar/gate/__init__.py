"""Rules and evidence in, outcomes and a decision out: no file, no clock. A pass is built from evidence, never assumed.

evidence                 by what rules are judged: metrics, named scenarios, the suite, what changed, the judge
rules                    `judge`: a rule, at the worst and at the best of undecided trials; `decide`: all outcomes
thresholds, conditions   a value compared with a threshold; a condition over several metrics
baseline, new_failures   rules that compare with a baseline
history, judges          rules about earlier runs and about the judge; thresholds of corrected shares
sequential               rules that some of the scenarios may decide
outlook                  what the outcome of a rule would be in a second run
"""

from highbar.gate.evidence import Evidence
from highbar.gate.outlook import second_run
from highbar.gate.rules import decide, judge, open_if_tried_again, still_open, worse_of
from highbar.gate.thresholds import slack_notes

__all__ = [
    "Evidence",
    "decide",
    "judge",
    "open_if_tried_again",
    "second_run",
    "slack_notes",
    "still_open",
    "worse_of",
]
