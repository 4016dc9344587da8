"""Workflow commands and files of a step, read as the runner of GitHub Actions reads them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """`::name key=value,…::message`, with what was escaped put back."""

    name: str
    properties: dict[str, str]
    message: str


def read_commands(text):
    """The commands of a log; any other line is none."""
    return [_command(line.strip()) for line in text.split("\n") if line.strip().startswith("::")]


def _command(line):
    head, found, message = line[2:].partition("::")
    assert found, line
    name, _, listed = head.partition(" ")
    properties = dict(part.split("=", 1) for part in listed.split(",") if part)
    return Command(
        name,
        {
            key: _plain(value).replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
            for key, value in properties.items()
        },
        _plain(message).replace("%25", "%"),
    )


def _plain(text):
    return text.replace("%0D", "\r").replace("%0A", "\n")


def read_outputs(text):
    """The outputs of a step: `name=value`, or a value of several lines between two lines of its own choosing."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        plain, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (plain < 0 or heredoc < plain):
            name, _, end = line.partition("<<")
            found[name] = "\n".join(iter(lambda: next(lines), end))
        else:
            name, _, found_value = line.partition("=")
            found[name] = found_value
    return found
