"""The suite that recorded answers are graded by: its checks, their functions, and its judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.checks import Functions
from highbar.errors import InputError, Problem
from highbar.running.grading import Grader
from highbar.running.judging.questions import Judgments, statements_of
from highbar.running.preparing import open_functions, refuse_missing_functions
from highbar.running.records import TrialEnded
from highbar.suite import Judge, Scenario, Suite, read

if TYPE_CHECKING:  # most suites need no judge
    from highbar.running.judging.rejudging import EarlierJudgments, JudgedAgain


class GradingSuite(Struct, frozen=True, eq=False):
    """A suite to grade by, the functions of its checks, and what its judge needs.

    `fresh`: earlier judgments are not reused.
    """

    suite: Suite
    folder: Path
    functions: Functions | None = None
    environment: Mapping[str, str] = {}
    fresh: bool = False

    def grader(
        self, version: str | None, judgments: Judgments | None = None, origin: Mapping[str, Any] | None = None
    ) -> Grader:
        """The grader for the answers of one version of an agent; `origin` is the run's value of `highbar_run`."""
        return Grader(self.suite, self.functions, agent_version=version, judgments=judgments, origin=origin)

    @property
    def asks_judge(self) -> bool:
        """Whether there is a judge, and a statement for it."""
        return bool(self.suite.judges) and any(map(statements_of, self.suite.scenarios.values()))

    def judged(
        self, trials: Iterable[tuple[Scenario, TrialEnded]], earlier: Callable[[EarlierJudgments], object]
    ) -> JudgedAgain:
        """Ask the judge about answers. `earlier` adds the judgments that can be reused."""
        from highbar.running.judging.rejudging import EarlierJudgments, judge_again  # most suites need no judge

        known = None
        if not self.fresh:
            known = EarlierJudgments()
            earlier(known)
        return judge_again(self.suite, trials, self.folder, self.environment, known)


@contextmanager
def graded_by(
    file: Path,
    *,
    judges: tuple[Judge, ...] = (),
    environment: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> Iterator[GradingSuite]:
    """Open the suite in a file to grade by it; `judges` replace its own. Raises InputError if it cannot be used."""
    suite = read(file)
    if judges:
        suite = replace(suite, judges=judges)
    if suite.lists_only:
        hint = "give its scenarios answers, expected_behaviors or must_not"
        raise InputError(Problem("suite.no-check", "this suite has no checks to grade by", str(file), hint=hint))
    ids = tuple(suite.scenarios)
    environment = {} if environment is None else environment
    refuse_missing_functions(suite, ids, file.parent)
    with ExitStack() as stack:
        functions = open_functions(suite, ids, file.parent, stack)
        yield GradingSuite(suite, file.parent, functions, environment, fresh)
