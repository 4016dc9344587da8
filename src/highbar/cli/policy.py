"""`highbar policy`, also `highbar lint`: a policy in; every rule in words, or all its problems, out."""

from __future__ import annotations

import click

from highbar.cli.streams import print_described
from highbar.errors import InputError
from highbar.language.phrases import count
from highbar.model import Level, Policy
from highbar.report import Display
from highbar.report.layout import columns, paint, paragraph, title
from highbar.report.visible import visible

_EXAMPLES = """\b
Examples:
  highbar policy                   the highbar.yaml found here or above
  highbar policy release.yaml
"""
_HEADINGS: tuple[tuple[Level, str, str], ...] = (
    ("blocking", "Blocking: a version fails unless all of these hold", "red"),
    ("warning", "Warning: a version is flagged if one of these does not hold", "yellow"),
)


@click.command("policy", short_help="Check a policy and say every rule in words (also: lint).", epilog=_EXAMPLES)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path())
def command(files: tuple[str, ...]) -> int:
    """Check a policy, or several, without results, and say every rule in words.

    `highbar lint` is the same command.
    """
    from highbar import policy as policies  # help and completion need neither the reader nor its YAML parser

    return print_described(
        files or (_policy_here(),), lambda file, screen: _describe(policies.read_named(file), screen)
    )


def _policy_here() -> str:
    """The path of the highbar.yaml in this folder or above. Raises InputError if there is none."""
    from highbar import policy as policies  # see command

    found = policies.find_here()
    if found is None:
        raise InputError(policies.missing())
    return str(found)


def _describe(policy: Policy, screen: Display) -> str:
    from highbar.policy.words import say_all, say_reading  # see command

    counts = [f"{sum(rule.level == level for rule in policy.rules)} {level}" for level, _, _ in _HEADINGS]
    lines = [f"{visible(policy.file or 'policy')} is valid: {count(len(policy.rules), 'rule')}, {', '.join(counts)}"]
    if policy.description:
        lines.append(visible(policy.description))
    rules = [(rule.level, visible(rule.name), visible(sentence)) for rule, sentence in say_all(policy)]
    for level, heading, color in _HEADINGS:
        rows = [(name, sentence) for known, name, sentence in rules if known == level]
        lines += ["", paint(heading, f"bold {color}", screen)] if rows else []
        for name, sentence in rows:
            lines += [f"  {name}", *paragraph(sentence, 6, screen)]
    reading = [(visible(name), visible(sentence)) for name, sentence in say_reading(policy)]
    lines += title("What is judged, and by whom", screen) if reading else []
    for name, sentence in reading:
        lines += [f"  {name}", *paragraph(sentence, 6, screen)]
    if policy.notes:
        lines += [*title("Notes", screen), *columns([("-", visible(note)) for note in policy.notes], 2, screen)]
    return "\n".join(lines) + "\n"
