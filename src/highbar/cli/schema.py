"""`highbar schema`: the JSON Schema of a policy, of results, of a verdict or of a comparison, for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click

from highbar.cli import streams

_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "policy": "highbar.policy.schema",
        "results": "highbar.report.schema_results",
        "verdict": "highbar.store.verdict",
        "comparison": "highbar.store.comparison",
    }
)

_EXAMPLES = """\b
Examples:
  highbar schema policy > highbar.schema.json

\b
An editor with a YAML language server then checks a policy that starts with
  # yaml-language-server: $schema=highbar.schema.json
"""


@click.command("schema", short_help="Print a JSON Schema: policy, results, verdict, comparison.", epilog=_EXAMPLES)
@click.argument("what", type=click.Choice(list(_MODULES)))
def command(what: str) -> int:
    """Print the JSON Schema of a policy, of results, of a verdict or of a comparison."""
    from highbar.store.encoding import encode

    streams.put(encode(import_module(_MODULES[what]).schema()))
    return 0
