"""`highbar metrics`: print the catalogue as text or JSON."""

from __future__ import annotations

import sys
from typing import Any

import click
from msgspec.structs import replace

from highbar.cli import streams
from highbar.model import Metric
from highbar.report import Display
from highbar.report.layout import columns, paint, paragraph, title

_EXAMPLES = """\b
Examples:
  highbar metrics
  highbar metrics --format json
"""


@click.command("metrics", short_help="List the metrics and the measures.", epilog=_EXAMPLES)
@click.option("--format", "report_format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(report_format: str) -> int:
    """List the metrics: formula, unit, direction, typical threshold, use; and the measures for formulas of your own."""
    if report_format == "json":
        from highbar.store.writing import encode  # only for JSON

        streams.print_text(encode(_document()))
    else:
        streams.print_text(_list(streams.display(sys.stdout)))
    return 0


def _list(screen: Display) -> str:
    from highbar.catalogue import MEASURES, SETTINGS  # the catalogue is not needed for help

    lines: list[str] = []
    for metric in _metrics():
        facts = f"{metric.unit}, {metric.better} is better"
        facts += f", typically {metric.typical_threshold}" if metric.typical_threshold else ""
        lines += [f"{paint(metric.name, 'bold', screen)}  ({facts})"]
        lines += paragraph(f"= {metric.formula}", 4, screen)
        lines += paragraph(f"{metric.use_case}.", 4, screen)
    lines += title("Measures, for formulas of your own", screen)
    lines += columns([(measure.name, measure.meaning) for measure in MEASURES.values()], 2, screen)
    lines += title("Settings, for formulas too", screen)
    lines += columns(list(SETTINGS.items()), 2, screen)
    return "\n".join(lines) + "\n"


def _document() -> dict[str, Any]:
    from highbar.catalogue import MEASURES  # as above

    return {
        "metrics": [
            {
                "name": metric.name,
                "formula": metric.formula,
                "unit": metric.unit,
                "better": metric.better,
                "typical_threshold": metric.typical_threshold,
                "use_case": metric.use_case,
            }
            for metric in _metrics()
        ],
        "measures": [{"name": measure.name, "meaning": measure.meaning} for measure in MEASURES.values()],
    }


def _metrics() -> list[Metric]:
    """The catalogue, with `pass_at_3` and `pass_hat_3` as examples of the metrics that exist for any number."""
    from highbar.catalogue import find_metric, metrics  # as above

    made = [find_metric(f"{name}_3") for name in ("pass_at", "pass_hat")]
    examples = [
        replace(metric, use_case=f"{metric.use_case}; likewise for any other number") for metric in made if metric
    ]
    return [*metrics().values(), *examples]
