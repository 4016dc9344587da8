"""After a command that was to write a report, whatever its exit, no report of an earlier run stands under its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from highbar.cli import app, run_guarded
from highbar.cli.guard import Stopped
from tests.commandline import Run, run

OLD = "PASS, says an earlier run"
MISSING = {
    "check": ("absent.jsonl",),
    "compare": ("absent.jsonl", "absent.jsonl"),
    "run": ("absent.yaml",),
    "judge calibrate": ("absent.jsonl", "--labels", "absent.labels"),
}
"""Inputs that are not there, with which each command that writes reports fails, whatever else is given."""
ENDINGS = ("json", "html", "txt", "md", "xml", "csv", "prom")


def commands(group: click.Group = app.root, above: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        path = (*above, name)
        if isinstance(command, click.Group):
            yield from commands(command, path)
        else:
            yield " ".join(path), command


WRITERS = {
    name: (command, option)
    for name, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and option.metavar == "[FORMAT=]FILE"
}


def failed(folder: Path, name: str, *arguments: str, report: str = "old.json") -> Run:
    """The command with these arguments and an old report, which must not be there afterwards."""
    (folder / "old.json").write_text(OLD)
    done = run(folder, *name.split(), *arguments, WRITERS[name][1].opts[0], report)
    assert done.exit in {2, 4}, (arguments, done.out)
    assert OLD not in (folder / "old.json").read_text(), (arguments, done.err)
    return done


def test_every_command_that_writes_reports_is_known() -> None:
    assert {name: option.opts[0] for name, (_, option) in WRITERS.items()} == {
        name: kind.option for name, kind in app.REPORT_FILES.items()
    }
    assert set(WRITERS) == set(MISSING)


@pytest.mark.parametrize("name", MISSING)
def test_no_old_report_survives_a_wrong_value_of_any_option(tmp_path: Path, name: str) -> None:
    for option in WRITERS[name][0].params:
        if not isinstance(option, click.Option) or option.is_eager:
            continue
        values = ["-", "x.html"] if option.name == "output" else [] if option.is_flag else ["?"]
        for value in values or [""]:
            arguments = (option.opts[0], value) if value else (option.opts[0],)
            assert failed(tmp_path, name, *MISSING[name], *arguments).exit == 2


@pytest.mark.parametrize("name", MISSING)
def test_no_old_report_survives_wrong_usage(tmp_path: Path, name: str) -> None:
    option = WRITERS[name][1].opts[0]
    for arguments in ((), ("--no-such-option",), ("--format", "pdf"), (*MISSING[name], "one", "two", "three")):
        assert failed(tmp_path, name, *arguments).exit == 2
    for other in ("x.unknown", "pdf=x", "-", "json=", "old.json", "./old.json", "missing/x.json"):
        assert failed(tmp_path, name, *MISSING[name], option, other).exit in {2, 4}
    assert failed(tmp_path, name, *MISSING[name], report="jsno=old.json").exit == 2
    assert failed(tmp_path, name, *MISSING[name], report="every-eval-ever=old.json").exit == 2


@pytest.mark.parametrize("name", MISSING)
def test_no_old_report_of_any_ending_survives(tmp_path: Path, name: str) -> None:
    """Also those in which the command cannot write."""
    option = WRITERS[name][1].opts[0]
    files = [tmp_path / f"old.{ending}" for ending in ENDINGS]
    for arguments in ((*MISSING[name],), ("--no-such-option",)):
        for file in files:
            file.write_text(OLD)
        done = run(tmp_path, *name.split(), *arguments, *(part for file in files for part in (option, file.name)))
        assert done.exit == 2, done.err
        assert "internal error" not in done.err
        assert [file.name for file in files if OLD in file.read_text()] == []


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("error", [RuntimeError("broken"), ImportError("broken"), Stopped()])
def test_no_old_report_survives_a_failure_before_it_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(WRITERS[name][0], "callback", lambda **_: fail())
    assert failed(tmp_path, name, *MISSING[name]).exit == 4


@pytest.mark.parametrize("name", MISSING)
def test_no_old_report_survives_a_deleted_working_folder(tmp_path: Path, name: str) -> None:
    old, gone, outside = tmp_path / "old.json", tmp_path / "gone", Path.cwd()
    old.write_text(OLD)
    gone.mkdir()
    try:
        os.chdir(gone)
        gone.rmdir()
        assert run_guarded([*name.split(), *MISSING[name], WRITERS[name][1].opts[0], str(old)]) == 2
    finally:
        os.chdir(outside)
    assert OLD not in old.read_text()


@pytest.mark.parametrize("arguments", [(), ("--no-such-option",), ("--shard", "a"), ("--resume", "runs/a")])
def test_what_a_run_reads_stays_as_it_is(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A suite, a policy and the files that it names may end as a report does."""
    texts = {
        "suite.json": '{"scenarios": [{"id": "a", "question": "?"}]}',
        "highbar.json": '{"baseline": {"file": "base.json"}, "thresholds": {"blocking": {"pass_rate": "> 0"}}}',
        "base.json": "{}",
        "other.json": "{}",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name in texts:
        done = run(tmp_path, "run", "suite.json", "--baseline", "other.json", *arguments, "--report", name)
        assert done.exit == 2
        assert arguments or done.codes == ["file.read-and-written"]
        assert arguments or name in done.err
        assert {name: (tmp_path / name).read_text() for name in texts} == texts


def test_an_input_that_is_given_as_a_report_stays_as_it_is(tmp_path: Path) -> None:
    """Spelled the same or not, and whatever else is wrong."""
    rows = '[{"id": "a", "passed": true}]'
    (tmp_path / "rows.json").write_text(rows)
    (tmp_path / "highbar.yaml").write_text('thresholds: { blocking: { pass_rate: "≥ 10%" } }\n', "utf-8")
    for name in ("check", "compare", "judge calibrate"):
        for output in ("rows.json", "./rows.json", "json=rows.json", "csv=rows.json", "jsno=rows.json"):
            for more in ((), ("--no-such-option",)):
                inputs = ["rows.json", "rows.json"] if name == "compare" else ["rows.json"]
                assert run(tmp_path, *name.split(), *inputs, *more, "--output", output).exit == 2
                assert run(tmp_path, *name.split(), f"--output={output}", *more, *inputs).exit == 2
                assert (tmp_path / "rows.json").read_text() == rows


@pytest.mark.parametrize("name", MISSING)
def test_a_report_that_cannot_be_written_hides_no_problem_and_costs_no_other_report(tmp_path: Path, name: str) -> None:
    option = WRITERS[name][1].opts[0]
    step = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    arguments = [*name.split(), *MISSING[name], option, "missing/a.json", option, "b.json"]
    done = run(tmp_path, *arguments, environment=step)
    assert done.exit == 4
    assert "missing/a.json could not be written" in done.err
    for text in (done.err, (tmp_path / "b.json").read_text()):
        assert "absent" in text
    assert name == "judge calibrate" or "absent" in (tmp_path / "summary").read_text()
