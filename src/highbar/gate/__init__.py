"""Rules and metrics in, a verdict out: pure, no file, no clock. It starts as an error; a pass is built from evidence."""

from highbar.gate.rules import judge
from highbar.gate.verdict import decide

__all__ = ["decide", "judge"]
