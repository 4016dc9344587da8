"""`highbar schema`: print the JSON Schema of a policy, a suite, results, or one of our documents, for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from highbar.cli import streams

_NAMES = ("policy", "suite", "results", "verdict", "comparison", "calibration", "run")

_EXAMPLES = """\b
Examples:
  highbar schema policy > highbar.schema.json

\b
An editor with a YAML language server then checks a policy that starts with
  # yaml-language-server: $schema=highbar.schema.json
"""


@click.command("schema", short_help="Print a JSON Schema: policy, suite, results, verdict, …", epilog=_EXAMPLES)
@click.argument("what", type=click.Choice(_NAMES))
def command(what: str) -> int:
    """Print the JSON Schema of a policy, a suite, results, a verdict, a comparison, a calibration or a run.json."""
    from highbar.store.writing import encode  # not needed for help

    streams.print_text(encode(_schema(what)))
    return 0


def _schema(what: str) -> Mapping[str, Any]:
    if what == "policy":
        from highbar.policy.schema import schema  # each is long, and only one is printed
    elif what == "suite":
        from highbar.suite.schema import schema  # as above
    elif what == "results":
        from highbar.report.schema_results import schema  # as above
    elif what == "verdict":
        from highbar.store.verdict import schema  # as above
    elif what == "comparison":
        from highbar.store.comparison import schema  # as above
    elif what == "calibration":
        from highbar.store.calibration import schema  # as above
    else:
        from highbar.store.run_document import schema  # as above
    return schema()
