"""Rules and metrics in, a verdict out: pure, no file, no clock. It starts as an error; a pass is built from evidence."""

from highbar.gate.evidence import Evidence
from highbar.gate.rules import judge
from highbar.gate.verdict import decide

__all__ = ["Evidence", "decide", "judge"]
