"""Writes the reference of the tools of `highbar mcp`: `python docs/tools.py`. Every line comes from the tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from highbar.mcp_server.runs import RunAnswer, RunArguments
from highbar.mcp_server.serving import MOST_OF_RUN, RUN, RUN_DESCRIPTION
from highbar.mcp_server.tools import TOOLS, tool_schema

PAGE = Path(__file__).parent / "reference" / "mcp-tools.md"
_BEGINNING = """\
# Tools for coding agents

The tools of `highbar mcp`, as a client sees them; `docs/tools.py` writes this page. See also: [set up a
client](../how-to/mcp.md), [let your coding agent fix a red gate](../how-to/fix-a-red-gate.md).

All tools but `run` only read. An argument that is not listed is refused. Paths are below the folder of the server. What
is empty is left out of an answer, and `cut` says what was left out to keep it short. A call that cannot be answered is
an error with `problems`: [`code`](problems.md), `message`, and `file`, `line` and `hint` if there are any. Every answer
is JSON, as structured content and as text.
"""


def page() -> str:
    """The whole page."""
    parts = [_BEGINNING]
    parts += [_section(tool.name, tool.description, tool.most, tool.arguments, tool.answer) for tool in TOOLS]
    parts.append(_section(RUN, f"Only with `--allow-run`. {RUN_DESCRIPTION}", MOST_OF_RUN, RunArguments, RunAnswer))
    return "\n".join(parts)


def _section(name: str, description: str, most: int, arguments: Any, answer: Any) -> str:
    asked, found = tool_schema(arguments), tool_schema(answer)
    lines = [f"## {name}", "", description, "", "| argument | value | meaning |", "|---|---|---|"]
    lines += _rows(asked, required=asked.get("required", ()))
    lines += [
        "",
        f"The answer, at most {most} bytes:",
        "",
        "| member | value | meaning |",
        "|---|---|---|",
        *_rows(found),
    ]
    return "\n".join(lines) + "\n"


def _rows(schema: Mapping[str, Any], required: Any = ()) -> Iterator[str]:
    parts = schema.get("$defs", {})
    for name, found in schema["properties"].items():
        demanded = ", required" if name in required else ""
        yield f"| `{name}` | {_value(found, parts)}{demanded} | {found.get('description', '')} |"


def _value(found: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """A value in words."""
    if "$ref" in found:
        return _members(parts[found["$ref"].rpartition("/")[2]])
    if "anyOf" in found:
        return " or ".join(_value(kind, parts) for kind in found["anyOf"] if kind != {"type": "null"})
    if "enum" in found:
        return ", ".join(f"`{word}`" for word in found["enum"])
    kind = {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(found["type"], found["type"])
    if kind == "array":
        return f"list of {_value(found['items'], parts)}"
    limits = [f"{word} {found[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in found]
    usual = found.get("default")
    return " ".join([kind, *limits]) + ("" if usual is None else f", else {usual}")


def _members(part: Mapping[str, Any]) -> str:
    return "object: " + ", ".join(f"`{name}`" for name in part["properties"])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
