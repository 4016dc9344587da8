"""H158, H164: promptfoo exports of runs that did not finish, and graders whose answer promptfoo could not read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, refused, run
from tests.importers.imported import FIXTURES

EXPORTS = FIXTURES / "promptfoo"
POLICY = "thresholds: { blocking: { pass_rate: 80% } }\n"
Change = Callable[[dict[str, Any]], None]


def export(name: str) -> dict[str, Any]:
    """A file as promptfoo wrote it."""
    found: dict[str, Any] = json.loads((EXPORTS / name).read_text("utf-8"))
    return found


def checked(folder: Path, document: dict[str, Any], policy: str = POLICY) -> Run:
    (folder / "results.json").write_text(json.dumps(document), "utf-8")
    (folder / "highbar.yaml").write_text(policy, "utf-8")
    return run(folder, "check", "results.json", "--format", "json")


def shortened(document: dict[str, Any], places: list[int]) -> dict[str, Any]:
    """The export with only these of its results, which its own statistics count."""
    found = [document["results"]["results"][place] for place in places]
    passed = sum(one["success"] for one in found)
    document["results"]["results"] = found
    document["results"]["stats"] |= {"successes": passed, "failures": len(found) - passed, "errors": 0}
    return document


# --- H158 ----------------------------------------------------------------------------------------


def of_an_old_version(document: dict[str, Any]) -> None:
    document["metadata"]["promptfooVersion"] = "0.118.1"


def without_metadata(document: dict[str, Any]) -> None:
    del document["metadata"]


def with_tests_in_a_file(document: dict[str, Any]) -> None:
    document["config"]["tests"] = "file://tests.csv"


def with_the_time_of_generating_tests(document: dict[str, Any]) -> None:
    """A red-team run has a duration as soon as its tests were generated."""
    document["results"]["stats"] |= {"durationMs": 900, "generationDurationMs": 900}


@pytest.mark.parametrize(
    "change",
    [None, of_an_old_version, without_metadata, with_tests_in_a_file, with_the_time_of_generating_tests],
)
def test_h158_an_interrupted_promptfoo_run_never_passes(tmp_path: Path, change: Change | None) -> None:
    document = export("interrupted.json")
    if change:
        change(document)
    done = checked(tmp_path, document)
    assert done.exit == 2, done.out
    assert "holds 8" in done.problems
    assert "promptfoo eval --resume" in done.problems


def repeated(document: dict[str, Any]) -> None:
    document["runtimeOptions"]["repeat"] = 3


def repeated_by_the_configuration(document: dict[str, Any]) -> None:
    del document["runtimeOptions"]
    document["config"]["evaluateOptions"] = {"repeat": 3}


def with_several_values(document: dict[str, Any]) -> None:
    document["config"]["tests"][0]["vars"]["locale"] = ["de", "en", "fr"]


def with_values_in_the_defaults(document: dict[str, Any]) -> None:
    document["config"]["defaultTest"] = {"vars": {"locale": ["de", "en"]}}


def with_a_scenario(document: dict[str, Any]) -> None:
    document["config"]["scenarios"] = [{"config": [{"vars": {"a": 1}}, {"vars": {"a": 2}}], "tests": [{}, {}]}]


def with_more_columns(document: dict[str, Any]) -> None:
    document["results"].pop("prompts")
    document["config"]["prompts"] *= 2
    for result in document["results"]["results"]:
        del result["testIdx"]


@pytest.mark.parametrize(
    "change",
    [
        repeated,
        repeated_by_the_configuration,
        with_several_values,
        with_values_in_the_defaults,
        with_a_scenario,
        with_more_columns,
    ],
)
def test_h158_repetitions_values_prompts_and_scenarios_are_planned_too(tmp_path: Path, change: Change) -> None:
    """Of a version that does not say whether a run ended, and all tests of the list ran once."""
    document = shortened(export("filtered.json"), list(range(8)))
    document["config"]["tests"] = document["config"]["tests"][:8]
    of_an_old_version(document)
    for key in ("durationMs", "evaluationDurationMs"):
        del document["results"]["stats"][key]
    assert checked(tmp_path, document).exit == 0
    change(document)
    done = checked(tmp_path, document)
    assert done.exit == 2, done.out
    assert "its configuration plans" in done.problems


def test_h158_a_result_that_is_gone_between_others_is_missed(tmp_path: Path) -> None:
    gone = shortened(export("filtered.json"), [0, 1, 2, 4, 5, 6, 7])
    refused(checked(tmp_path, gone), "test 3 ", "0 of 1 ", code="import.incomplete")
    whole = export("matrix.json")["results"]["results"]
    half = shortened(export("matrix.json"), list(range(len(whole) - 1)))
    refused(checked(tmp_path, half), "3 of 4 ", code="import.incomplete")


@pytest.mark.parametrize("renumbered", [False, True])
def test_h158_copies_of_a_result_do_not_stand_for_those_that_are_gone(tmp_path: Path, renumbered: bool) -> None:
    document = export("filtered.json")
    document["config"]["tests"] = document["config"]["tests"][:8]
    places = [0, 1, 2, 0, 4, 5, 6, 7]  # a copy of the first for the fourth
    document["results"]["results"] = [json.loads(json.dumps(document["results"]["results"][at])) for at in places]
    if renumbered:
        document["results"]["results"][3]["testIdx"] = 3
    done = checked(tmp_path, shortened(document, list(range(8))))
    refused(
        done, *("'T-00'", " 2 ", "column 0", " 1") if renumbered else ("test 0 ", "column 0"), code="import.duplicate"
    )


def test_h158_a_filtered_run_that_ended_passes_with_a_note(tmp_path: Path) -> None:
    done = checked(tmp_path, export("filtered.json"))
    assert done.exit == 0, done.err
    note = "this run was filtered: its configuration plans 20 results, and the file holds 8"
    assert any(note in warning for warning in done.json["warnings"])
    quiet = run(tmp_path, "check", "results.json", "--quiet")
    assert note in quiet.err + quiet.out


def test_h158_a_whole_run_has_no_note(tmp_path: Path) -> None:
    document = export("filtered.json")
    document["config"]["tests"] = document["config"]["tests"][:8]
    done = checked(tmp_path, document)
    assert done.exit == 0, done.err
    assert not any("filtered" in warning for warning in done.json["warnings"])


def test_h158_a_list_that_is_not_expanded_and_columns_of_single_tests_are_no_loss(tmp_path: Path) -> None:
    document = export("filtered.json")
    tests, results = document["config"]["tests"][:8], document["results"]["results"]
    document["config"] |= {"tests": tests, "prompts": ["{{q}}", "please {{q}}"], "providers": ["a", "b"]}
    document["results"]["prompts"] *= 4
    for test, result in zip(tests, results, strict=True):
        test["vars"]["tags"] = result["vars"]["tags"] = ["one", "two"]
        test |= {"prompts": ["{{q}}"], "providers": ["a"]}
        result["testCase"] |= {"prompts": ["{{q}}"], "providers": ["a"]}
    done = checked(tmp_path, document)
    assert done.exit == 0, done.err
    assert not any("filtered" in warning for warning in done.json["warnings"])


# --- H164 ----------------------------------------------------------------------------------------


def test_h164_a_grader_that_answered_prose_decides_nothing(tmp_path: Path) -> None:
    done = checked(tmp_path, export("graders.json"))
    assert done.exit == 3, done.out
    assert done.json["counts"]["trials"] == 5
    shown = " ".join(run(tmp_path, "check", "results.json").out.split())
    for kind in ("factuality", "model-graded-factuality", "model-graded-closedqa", "llm-rubric", "g-eval"):
        assert f"judge: {kind}: " in shown


def test_h164_a_must_not_of_a_grader_that_answered_prose_is_not_acquitted(tmp_path: Path) -> None:
    """Before promptfoo marked such answers, it turned the failed check of a must-not into a pass."""
    document = export("graders.json")
    for result in document["results"]["results"]:
        (component,) = result["gradingResult"]["componentResults"]
        component.pop("metadata", None)
        for assertion in (component["assertion"], *result["testCase"]["assert"]):
            assertion["type"] = f"not-{assertion['type']}"
        component["pass"] = result["gradingResult"]["pass"] = result["success"] = True
        result["failureReason"] = 0
    document["results"]["stats"] |= {"successes": 5, "failures": 0}
    done = checked(tmp_path, document, "thresholds: { blocking: { violation_rate: 0% } }\n")
    assert done.exit == 3, done.out


def test_h164_a_failure_that_the_grader_found_stays_one(tmp_path: Path) -> None:
    document = export("graders.json")
    for result, reason in zip(
        document["results"]["results"],
        (
            "There is a disagreement between the submitted answer and the expert answer.",
            "Category D: they disagree",
            "The submission does not meet the criterion:\nN",
            "The answer is rude.",
            "The answer is rude.",
        ),
        strict=True,
    ):
        (component,) = result["gradingResult"]["componentResults"]
        component.pop("metadata", None)
        component["reason"] = reason
    assert checked(tmp_path, document).exit == 1


def test_h164_turns_of_one_conversation_are_one_cluster(tmp_path: Path) -> None:
    done = checked(tmp_path, export("turns.json"))
    assert done.exit == 0, done.err
    assert done.json["counts"]["scenarios"] == 4
    assert any("2 clusters" in warning for warning in done.json["warnings"]), done.json["warnings"]


def test_h164_equal_turns_of_two_conversations_are_two_scenarios(tmp_path: Path) -> None:
    document = export("turns.json")
    results, tests = document["results"]["results"], document["config"]["tests"]
    for result, test in zip(results, tests, strict=True):
        result["vars"]["q"] = result["testCase"]["vars"]["q"] = test["vars"]["q"] = "hello, yes"
        result["testCase"]["metadata"].pop("conversationId")
        test["metadata"].pop("conversationId")
    alike = checked(tmp_path, document).json["counts"]
    for place, (result, test) in enumerate(zip(results, tests, strict=True)):
        for one in (result["testCase"], test):
            one["metadata"]["conversationId"] = ("refund", "delivery")[place // 2]
    done = checked(tmp_path, document)
    assert done.exit == 0, done.err
    assert (alike["scenarios"], done.json["counts"]["scenarios"]) == (1, 2)
