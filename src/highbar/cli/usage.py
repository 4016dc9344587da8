"""The error of options that cannot be used together, or are missing."""

from __future__ import annotations

import click


class WrongUsage(click.UsageError):
    """Wrong options or arguments; `code` names the kind, and `hint` says more than that --help explains the options."""

    def __init__(
        self, code: str, message: str, *, hint: str | None = None, context: click.Context | None = None
    ) -> None:
        super().__init__(message, context)
        self.code = code
        self.hint = hint
