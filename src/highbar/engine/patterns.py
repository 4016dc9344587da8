"""Patterns of text, as SQL strings that DuckDB and Spark read alike."""

from __future__ import annotations

from highbar.engine.sql import literal

TEXT_LIST = literal(r'\[("([^"\\]|\\.)*"(,"([^"\\]|\\.)*")*)?\]')
CLEAN_TEXT = literal('"[^\\x00-\\x1f\\x7f-\\x{9f}\\\\"]*"')
NOT_TEXT = literal(r"^(true|false|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|-?(?i:nan|inf|infinity)|[\[{](.|\n)*)$")
CONTROL = literal("[\\x00-\\x1f\\x7f-\\x{9f}]")
SEEN = literal(
    r"[^\s\p{Z}\p{Cc}\p{Cf}\p{Co}\p{M}\x{115f}\x{1160}\x{2800}\x{3164}\x{ffa0}\x{fff0}-\x{fff8}\x{13441}\x{13442}\x{1d159}"
    r"\x{e0000}-\x{e0fff}]"
)
"""A character that a reader sees: no space of any kind, nothing invisible, no mark without a letter.

Letters and symbols that are drawn as nothing (Hangul fillers, the blank Braille cell) have no class of their own. What
Unicode has not assigned is spelled out too: Java counts it as a control character, and DuckDB does not.
"""
