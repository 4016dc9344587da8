"""Problems of a check, gathered while it is read: those of every value that people write."""

from __future__ import annotations

from highbar.documents.problems import Path_, Place, Problem, shown

__all__ = ["Path_", "Place", "Problem", "shown"]
