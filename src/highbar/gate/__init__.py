"""Rules and metrics in, a verdict out: pure, no file, no clock. A pass is built from evidence, never assumed."""

from highbar.gate.evidence import Evidence
from highbar.gate.outlook import second_run
from highbar.gate.rules import decide, judge, still_open
from highbar.gate.thresholds import slack_notes

__all__ = ["Evidence", "decide", "judge", "second_run", "slack_notes", "still_open"]
