"""The formats that `--input-format` takes: ours, those of the tools that we know, and those that outsiders add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click

from highbar import importers
from highbar.model import Format

if TYPE_CHECKING:  # see shell_complete
    from click.shell_completion import CompletionItem

OURS: tuple[str, ...] = get_args(Format)
TOOLS = tuple(importer.name for importer in importers.IMPORTERS)


class _FormatName(click.ParamType):  # type: ignore[type-arg] # generic only in the newest click
    """One of the names, or one that an outsider adds: the environment is asked for those only when it must be."""

    name = "format"

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.names and value not in importers.format_names():
            wanted = ", ".join(dict.fromkeys((*self.names, *importers.format_names())))
            self.fail(f"{value!r} is not one of {wanted}.", param, ctx)
        return str(value)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - likewise
        incomplete: str,
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # only a shell asks

        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]


INPUT_FORMAT = _FormatName((*OURS, *TOOLS))
TOOL = _FormatName(TOOLS)
MAP_HELP = "Which path of a foreign record feeds which column; by default the policy's map."
FORMAT_HELP = f"What the results are, whatever their names: {', '.join((*OURS, *TOOLS))}."
WHERE_HELP = "Judge only rows with this value, if the policy has no select: tags.model=x. May be repeated."
SUBSET_HELP = "Allow --where or select to leave a scenario without any row."
