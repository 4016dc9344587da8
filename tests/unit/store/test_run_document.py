"""run.json: what is written is read back, and what is damaged or contradicts itself is refused with its place."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import get_args

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from highbar.errors import InputError, Problem, ReportError
from highbar.store import run_document
from highbar.store.run_document import (
    AgentKind,
    AgentOfRun,
    Chosen,
    OrderOfRun,
    RunDocument,
    RunExtent,
    RunState,
    StoredJournal,
    StoredRows,
    SuiteOfRun,
    TrialCounts,
    is_run_folder,
    read_run_document,
)
from tests.unit.report.strategies import TEXTS

SCHEMA = jsonschema.Draft202012Validator(run_document.schema())
DIGEST = "0123456789abcdef" * 4
DOCUMENT = RunDocument(
    state="complete",
    whole=True,
    suite=SuiteOfRun("library-agent", "suite.yaml", DIGEST, DIGEST),
    agent=AgentOfRun("http", "https://example.com/${PART}", "1.2", DIGEST),
    planned=RunExtent(3, 9),
    chosen=Chosen(),
    done=TrialCounts(7, 1, 1),
    retried=TrialCounts(2, 0, 1),
    order=OrderOfRun(DIGEST, 2**64, "option"),
    started="2026-11-16T14:25:30Z",
    ended="2026-11-16T14:26:30Z",
    resumes=1,
    results=StoredRows(9, DIGEST),
    journal=StoredJournal(12, 3, "0123abcd"),
    highbar="1.0",
)


def saved(folder: Path, document: RunDocument = DOCUMENT) -> Path:
    """A folder with the document, and a journal of the length that it says."""
    (folder / "journal").write_bytes(b"x" * 12)
    run_document.save(document, folder)
    return folder


def refused(folder: Path, changes: dict[str, object]) -> list[Problem]:
    """The problems of a document in which these paths have other values."""
    content = json.loads((saved(folder) / "run.json").read_text("utf-8"))
    for path, value in changes.items():
        *above, last = path.split(".")
        inner = content
        for step in above:
            inner = inner[step]
        inner[last] = value
    (folder / "run.json").write_text(json.dumps(content, indent=2), "utf-8")
    with pytest.raises(InputError) as caught:
        read_run_document(folder)
    return list(caught.value.problems)


COUNTS = st.integers(0, 50)
DOCUMENTS = st.builds(
    lambda base, answered, errors, undecided: replace(
        base,
        planned=RunExtent(1, answered + errors + undecided),
        done=TrialCounts(answered, errors, undecided),
        retried=TrialCounts(answered // 2, errors, 0),
        results=StoredRows(answered + errors + undecided, DIGEST),
    ),
    st.builds(
        replace,
        st.just(DOCUMENT),
        state=st.sampled_from(get_args(RunState)),
        whole=st.just(False),
        suite=st.builds(SuiteOfRun, st.none() | TEXTS, TEXTS, st.just(DIGEST), st.just(DIGEST)),
        agent=st.builds(AgentOfRun, st.sampled_from(get_args(AgentKind)), TEXTS, st.none() | TEXTS, st.just(DIGEST)),
        chosen=st.builds(
            Chosen,
            st.lists(TEXTS, max_size=2).map(tuple),
            st.lists(TEXTS, max_size=2).map(tuple),
            st.none() | st.integers(1, 9),
        ),
        order=st.builds(OrderOfRun, st.just(DIGEST), st.integers(-(2**70), 2**70)),
    ),
    COUNTS,
    COUNTS,
    COUNTS,
)


@given(DOCUMENTS)
def test_what_is_written_is_read_back(document):
    SCHEMA.validate(run_document.write(document))
    with tempfile.TemporaryDirectory() as folder:
        assert read_run_document(saved(Path(folder), document)) == document


@pytest.mark.parametrize("state", get_args(RunState))
def test_a_run_is_finished_if_it_ended_by_itself_by_budget_or_by_time(state):
    assert replace(DOCUMENT, state=state).is_finished == (state in ("complete", "budget", "time", "decided"))


@pytest.mark.parametrize(
    ("changes", "code", "place", "value"),
    [
        (
            {"state": "passed"},
            "document.damaged",
            "state",
            "'passed'",
        ),
        ({"whole": "yes"}, "document.damaged", "whole", "'yes'"),
        ({"results.sha256": "abc"}, "document.damaged", "results.sha256", "'abc'"),
        ({"journal.checksum": 7}, "document.damaged", "journal.checksum", "8"),
        ({"journal.checksum": "0123ABCD"}, "document.damaged", "journal.checksum", "8"),
        ({"agent.kind": "shell"}, "document.damaged", "agent.kind", "'shell'"),
        ({"done": None}, "document.damaged", "done", "null"),
        ({"done.errors": -1}, "document.damaged", "done.errors", "-1"),
        ({"judge": {"model": "m"}}, "document.damaged", "judge.by", ""),
        ({"schema": "highbar/run/2"}, "document.other-schema", "schema", "highbar/run/2"),
        ({"schema": "highbar/verdict/1"}, "document.other-schema", "schema", "highbar/run/1"),
    ],
)
def test_what_no_run_writes_is_refused_with_its_place(tmp_path, changes, code, place, value):
    problems = refused(tmp_path, changes)
    assert (problems[0].code, problems[0].message.split(": ")[0]) == (code, place)
    assert value in problems[0].message
    assert problems[0].file == str(tmp_path / "run.json")
    assert problems[0].line
    assert "update Highbar" in str(problems[0].hint) or "--resume" in str(problems[0].hint)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": "highbar/run/1", "schema": "highbar/run/1"}', "\xff"]
)
def test_what_is_no_document_is_refused(tmp_path, text):
    (saved(tmp_path) / "run.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError):
        read_run_document(tmp_path)


@pytest.mark.hazard("H58")
def test_a_run_without_a_document_has_not_ended(tmp_path):
    (tmp_path / "journal").write_bytes(b"x")
    with pytest.raises(InputError) as caught:
        read_run_document(tmp_path)
    assert [problem.code for problem in caught.value.problems] == ["run.unfinished"]
    assert f"--resume {tmp_path}" in str(caught.value)


@pytest.mark.parametrize("journal", [b"x" * 11, b"x" * 13, b""])
def test_a_document_about_another_length_of_the_journal_is_refused(tmp_path, journal):
    (saved(tmp_path) / "journal").write_bytes(journal)
    with pytest.raises(InputError) as caught:
        read_run_document(tmp_path)
    (problem,) = caught.value.problems
    assert problem.code == "run.unfinished"
    assert f"{len(journal)} bytes" in problem.message
    assert "--resume" in str(caught.value)


def test_a_document_without_its_journal_is_refused(tmp_path):
    (saved(tmp_path) / "journal").unlink()
    with pytest.raises(InputError) as caught:
        read_run_document(tmp_path)
    (problem,) = caught.value.problems
    assert (problem.code, problem.file) == ("file.unreadable", str(tmp_path / "journal"))


def test_a_folder_with_a_journal_is_a_run(tmp_path):
    assert not is_run_folder(tmp_path)
    assert not is_run_folder(tmp_path / "missing")
    assert not is_run_folder(Path("x" * 5000))
    assert not is_run_folder(Path("a\0b"))
    (tmp_path / "journal").mkdir()
    assert not is_run_folder(tmp_path)
    (tmp_path / "journal").rmdir()
    (tmp_path / "journal").touch()
    assert is_run_folder(tmp_path)
    assert not is_run_folder(tmp_path / "journal")


def test_a_document_that_cannot_be_written_leaves_the_older_one(tmp_path):
    before = (saved(tmp_path) / "run.json").read_bytes()
    with pytest.raises(ReportError, match="could not be written"):
        run_document.save(DOCUMENT, tmp_path / "missing")
    assert (tmp_path / "run.json").read_bytes() == before
