"""Law L3 on files: a value made worse never helps, and a statement taken away never makes a PASS.

Files of every tool, and of our own formats, are changed by what they say and judged by `highbar.check`. Every rule of
the policy stands just beyond the value that its metric has in the intact file, so that the least improvement shows.

(a) `worse` makes one value worse: no rule's outcome may rise. (b) `taken` takes one statement away: what did not pass
must not pass then. (c) A tool may write of something once and nowhere else; taken away, it leaves no trace. `TRACELESS`
says of which formats that is known, and why. With a suite that was made from the intact file it must not pass there
either: the suite still says which scenarios there are, and what each must be judged by.

JUnit reports are also made up, as each runner writes them: see `junit_trees`.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import highbar
from highbar.errors import InputError
from highbar.importers.reading import zip as archives
from highbar.load import files as loading
from highbar.load import foreign
from highbar.policy import read_dict
from tests.importers.fuzzing import MAPPING, at, bent_archive, files, places, put, without
from tests.laws import junit_trees
from tests.laws.worse import RANK

GOLDEN = Path(__file__).parents[1] / "golden"
METRICS = ("pass_rate", "accuracy", "safety_rate", "behavior_coverage", "error_rate", "violation_rate", "latency_p95")
LOWER = ("error_rate", "violation_rate", "latency_p95")
LARGEST = 120_000
MADE_UP = 0.3
"""The share of attempts on made-up JUnit reports."""
OURS = (".jsonl", ".json", ".csv")
VERDICTS = {True: False, "pass": "fail", "passed": "failed", "yes": "no", "C": "I", "correct": "incorrect"}
"""A verdict, and the one that is worse; under a key that tells of something bad it is the other way round."""
BAD = re.compile(r"err|fail|skip|crash|violat|invalid|missing|cached|cancel|blocked|hidden|negat|not", re.IGNORECASE)
SCORES = re.compile(r"^(score|scores|value|reward|acc|acc_norm|exact_match|accuracy|correct)$")
"""Keys whose number is a share of what was right."""

TRACELESS: Mapping[str, str] = {
    "pydantic-evals": "an evaluator that was not content is written of in one place only",
    "mlflow": "a row of the table has nothing beside its cells; a column is there if any row has it",
    "otel": "an evaluation is one event, and no other span counts them",
    "map": "nothing in a home-grown file says what its records must hold",
    "ours": "rows of our own declare nothing beyond themselves: a suite does",
    "select": "rows of our own, of which a tag chooses some: as above",
    "junit": "a report whose suites do not count tests, failures and errors tells of each in one place only",
}
"""By format, why a statement can be taken away without a trace."""

TIMES = re.compile(r"lat|time|dur|start|end|seconds|usage|stats|events|spans|_ms|Ms", re.IGNORECASE)
KINDS = re.compile(r"categ|adversarial|tags|metadata|plugin|propert|\bid\b|name|key|vars", re.IGNORECASE)
ERRORS = re.compile(r"err|exception|status|state|crash|limit|fail|reason|termination|halt|code|invalid", re.IGNORECASE)
"""What tells of a latency, a category or an error, by the names of the tools."""

EXCEPTIONS: Mapping[str, Callable[[Case, Change, str], bool]] = {
    # The specification: a scenario that has a measure in no trial, and is not asked for it, is missing there.
    "a latency that is gone is missing, and counted beside the percentile": lambda _, change, metric: (
        change.kind == "taken" and metric == "latency_p95" and TIMES.search(change.gone) is not None
    ),
    # The specification: a row without its category takes no part in what is over that category; a suite has it.
    "a category that is gone takes a scenario out of its slice": lambda _, change, metric: (
        change.kind == "taken" and metric == "safety_rate" and KINDS.search(change.gone) is not None
    ),
    # The specification: error_rate is the share of trials with an error; one that is gone is no error any more, and
    # whether the trial passed is undecided then, which pass_rate shows.
    "an error that is gone is none": lambda _, change, metric: (
        change.kind == "taken" and metric == "error_rate" and ERRORS.search(change.gone) is not None
    ),
    # promptfoo names a scenario by its variables. Without one of them the failed trial is still counted, but as a
    # scenario of its own, which makes one more. A suite has the names.
    "without a variable it is another scenario": lambda case, change, metric: (
        case.tool == "promptfoo"
        and change.kind == "taken"
        and metric in ("error_rate", "violation_rate")
        and ".vars." in change.gone
    ),
    # A JUnit test is named by its class and its name. Without one of them, one of several trials is still counted, but
    # as a scenario of its own. A suite has the names.
    "a class or a name that is gone makes another scenario": lambda case, change, metric: (
        case.tool == "junit"
        and change.kind == "taken"
        and metric == "pass_rate"
        and re.match("test(case|suite) (class)?name ", change.gone) is not None
    ),
    # A runner need not count the attempts that it made again; the page on JUnit says that a lost one is not seen.
    "an attempt that is gone was made once less": lambda case, change, metric: (
        case.tool == "junit"
        and change.kind == "taken"
        and metric in ("pass_rate", "error_rate", "violation_rate")
        and re.match("<(flaky|rerun)", change.gone) is not None
    ),
    # The specification: an undecided trial is undecided for every rate. `is_correct` below full marks is undecided;
    # made false, it is a known failure, and a trial that was looked at and has no violation is not violated.
    "a trial that is known to be wrong is not violated": lambda case, change, metric: (
        case.tool == "every-eval-ever" and change.kind == "worse" and metric in ("error_rate", "violation_rate")
    ),
    # The specification: rows are chosen by the text of a tag, another text is another variant, and the report counts
    # what is left out. A tag that is gone, or is no text, is not excepted.
    "a tag with another text is of another variant": lambda case, change, _: (
        case.tool == "select" and change.what.endswith("another text")
    ),
}
"""By reason, the metrics that may rise by a change all the same. No exception is made for the verdict as a whole,
but for a row that says itself that it is of another variant."""


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to a file."""

    kind: str
    what: str
    data: bytes
    gone: str = ""  # what was taken away, with its place: an exception may be made for it


@dataclass(frozen=True, slots=True)
class Case:
    """A file, whose it is, the policy that is just missed, and the outcome of each of its rules."""

    tool: str
    path: Path
    policy: Mapping[str, Any]
    before: Mapping[str, int]
    suite: tuple[Mapping[str, Any], ...] = field(default=())


# --- cases ---------------------------------------------------------------------------------------


def known_files(tools: set[str]) -> list[tuple[str, Path]]:
    """Files of every tool, and of our own formats, small enough to be judged often."""
    found = [(tool, path) for tool, path in files() if path.stat().st_size <= LARGEST and path.name != "totals.json"]
    found += [("ours", path) for path in sorted(GOLDEN.glob("*/results.*")) if path.suffix in OURS]
    found += [("select", path) for path in sorted(GOLDEN.glob("*/results.jsonl"))]
    return [(tool, path) for tool, path in found if not tools or tool in tools]


def in_variants(path: Path, folder: Path) -> Path | None:
    """The rows of a file as those of two models, tagged; a scenario in two has them of one model alone.

    None if the rows have tags or columns of agents themselves, by which they would be told apart already.
    """
    rows = [json.loads(line) for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    if not all(isinstance(row, dict) and "tags" not in row and "agent_version" not in row for row in rows):
        return None
    made = []
    for number, row in enumerate(rows):
        for trial, model in enumerate(("x", "x") if len(str(row.get("id"))) % 2 else ("x", "x", "y")):
            made.append({**row, "trial": number * 3 + trial, "tags": {"model": model}})
    target = folder / f"{path.parent.name}.jsonl"
    target.write_text("".join(json.dumps(row) + "\n" for row in made), "utf-8")
    return target


def outcomes(path: Path, policy: Mapping[str, Any]) -> dict[str, int] | None:
    """The rank of every rule and of the verdict; None if nothing was judged."""
    try:
        verdict = highbar.check(path, policy)
    except InputError:
        return None
    ranks = {rule.rule: RANK[rule.outcome] for rule in verdict.rules}
    return {**ranks, "verdict": RANK[verdict.verdict or "fail"]}


def case_of(tool: str, path: Path, folder: Path) -> Case | None:
    """The case of a file; None if it is refused as it is."""
    start: dict[str, Any] = {"thresholds": {"blocking": {"pass_rate": "1%"}}}
    start |= {"map": MAPPING} if tool == "map" else {}
    if tool == "select":
        tagged = in_variants(path, folder)
        if tagged is None:
            return None
        path, start = tagged, {**start, "select": {"tags.model": "x"}}
    verdict = _judged(path, start)
    if verdict is None:
        return None
    rules = [_beyond(name, value) for name, value in verdict.metrics.items() if name in METRICS]
    policy = {key: value for key, value in start.items() if key != "thresholds"}
    policy["rules"] = [rule for rule in rules if rule]
    before = outcomes(path, policy) if policy["rules"] else None
    return None if before is None else Case(tool, path, policy, before, _suite(tool, path, policy, folder))


def _judged(path: Path, policy: dict[str, Any]) -> highbar.Verdict | None:
    """The verdict, after the `judged_by` that a file without a declared judge asks for was added to the policy."""
    try:
        return highbar.check(path, policy)
    except InputError as error:
        for problem in error.problems:
            asked = re.search(r"judged_by: \{ (\w+): \{ (\w+): (.+), at_least: 1 \} \}", problem.hint or "")
            if asked and "judged_by" not in policy:
                name = json.loads(asked[3]) if asked[3].startswith('"') else asked[3]
                policy["judged_by"] = {asked[1]: {asked[2]: name, "at_least": 1}}
                return _judged(path, policy)
    return None


def _beyond(name: str, value: highbar.Value) -> dict[str, str] | None:
    """A rule that the metric just misses; None if it cannot be better than it is."""
    if value.value is None:
        return None if name == "latency_p95" else {"metric": name, "threshold": "<= 99%" if name in LOWER else ">= 1%"}
    if value.value == (0 if name in LOWER else 1):
        return None
    number = float(value.value)
    if name == "latency_p95":
        return {"metric": name, "threshold": f"< {number:.6f}ms"} if number else None
    return {"metric": name, "threshold": f"{'<' if name in LOWER else '>'} {number * 100:.9f}%"}


def _suite(tool: str, path: Path, policy: Mapping[str, Any], folder: Path) -> tuple[Mapping[str, Any], ...]:
    """What the rows of the intact file are, and demand, as a suite would have it."""
    rows = rows_of(tool, path, policy, folder)
    suite: dict[str, dict[str, Any]] = {}
    for row in rows:
        entry = suite.setdefault(str(row["id"]), {"id": row["id"]})
        for column in ("category", "capability", "cluster"):
            if row.get(column) is not None:
                entry[column] = row[column]
        for column in ("expected_behaviors", "must_not"):
            names = [one["name"] if isinstance(one, dict) else one for one in row.get(column) or ()]
            if names:
                entry[column] = sorted({*entry.get(column, ()), *names})
    return tuple(suite.values())


def rows_of(tool: str, path: Path, policy: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The rows of a file as they are judged; those of our own only if they are lines of JSON."""
    if tool in ("ours", "select"):
        lines = path.read_text("utf-8-sig").splitlines() if path.suffix == ".jsonl" else []
        return [json.loads(line) for line in lines if line.strip()]
    read = read_dict({**policy, "thresholds": {"blocking": {"pass_rate": "1%"}}})
    guidance = foreign.Guidance(read.mapping, read.judged_by)
    with ExitStack() as stack:
        file, _ = next(loading.find_foreign([str(path)], tool, stack=stack, guidance=guidance))
        return [json.loads(line) for line in Path(file.path).read_text("utf-8").splitlines()]


# --- changes -------------------------------------------------------------------------------------


def changed(case: Case, random: Random, kind: str) -> Change | None:
    """The file with one thing changed; None if there is nothing to change in this way."""
    if case.path.suffix == ".eval":
        data = bent_archive(case.path, random, kind)
        return None if data is None else Change(kind, "a member", data, _lost(case.path.read_bytes(), data))
    if case.path.suffix == ".xml":
        return _changed_report(case, random, kind)
    if case.tool == "select" and kind == "taken":
        return _changed_tag(case, random)
    if case.path.suffix == ".csv":
        return _changed_cell(case, random, kind)
    return _changed_json(case, random, kind)


def _failed_case(text: str, random: Random) -> str | None:
    """The report with a test case that failed, or crashed, among those of which nothing bad was written."""
    cases = list(re.finditer(r"<testcase\b[^<>]*?(/>|>\s*</testcase>)", text))
    if not cases:
        return None
    case = random.choice(cases)
    opening = text[case.start() : case.start(1)]
    bad = random.choice(("<failure/>", '<error message="x"/>'))
    return f"{text[: case.start()]}{opening}>{bad}</testcase>{text[case.end() :]}"


def _lost(before: bytes, after: bytes) -> str:
    """What an archive does not say any more: the words of the members that differ."""
    members = []
    for data in (before, after):
        with tempfile.NamedTemporaryFile(suffix=".eval") as file:
            file.write(data)
            file.flush()
            with archives.open_archive(file.name) as archive:
                members.append({name: bytes(archive.read(name)).decode("utf-8", "replace") for name in archive})
    words = [Counter(re.findall(r"\w+", " ".join(text for name, text in sorted(one.items())))) for one in members]
    return " ".join(words[0] - words[1])


def _changed_report(case: Case, random: Random, kind: str) -> Change | None:
    text = case.path.read_text("utf-8", "replace")
    if kind == "worse":
        found = _failed_case(text, random)
        return None if found is None else Change(kind, "a test case", found.encode())
    try:
        builder = ET.TreeBuilder(insert_comments=True)  # node counts its tests in comments
        root = ET.fromstring(text, ET.XMLParser(target=builder))  # noqa: S314 - a file of the tests
    except ET.ParseError:
        return None
    return random.choice((_without_element, _without_attribute))(root, random)


def _without_element(root: ET.Element, random: Random) -> Change | None:
    """The report without one of its elements, whatever it holds."""
    pairs = [(parent, child) for parent in root.iter() for child in parent if not _is_unseen(parent, child)]
    if not pairs:
        return None
    parent, child = random.choice(pairs)
    parent.remove(child)
    gone = ET.tostring(child, "unicode")
    return Change("taken", f"<{child.tag}> of <{parent.tag}>", ET.tostring(root), gone)


def _is_unseen(parent: ET.Element, child: ET.Element) -> bool:
    """Whether this is a test case of a suite of jest that has todos: `junit_trees.UNSEEN` says why."""
    is_jest = " ".join(parent.attrib).startswith("name errors failures skipped timestamp")
    return is_jest and child.tag == "testcase" and len(parent) > int(parent.attrib.get("tests", 0))


def _without_attribute(root: ET.Element, random: Random) -> Change | None:
    """The report without one attribute, or with an empty one."""
    held = [(element, name) for element in root.iter() for name in element.attrib]
    if not held:
        return None
    element, name = random.choice(held)
    gone = f"{element.tag} {name} {element.attrib[name]}"
    if random.random() < 0.5:
        del element.attrib[name]
    else:
        element.attrib[name] = ""
    return Change("taken", f"{name} of <{element.tag}>", ET.tostring(root), gone)


def _changed_tag(case: Case, random: Random) -> Change | None:
    """The rows, of which one lost the tag by which rows are chosen, or has something odd there."""
    rows = [json.loads(line) for line in case.path.read_text("utf-8").splitlines()]
    row = random.choice(rows)
    what, tags = random.choice(
        (
            ("no tag", {}),
            ("null", {"model": None}),
            ("a number", {"model": 1}),
            ("a list", {"model": ["x"]}),
            ("empty", {"model": ""}),
            ("another text", {"model": "z"}),
        )
    )
    row["tags"] = {**{name: value for name, value in row["tags"].items() if name != "model"}, **tags}
    lines = "".join(json.dumps(one) + "\n" for one in rows)
    return Change("taken", f"the tag of {row['id']}: {what}", lines.encode(), "tags model")


def _changed_json(case: Case, random: Random, kind: str) -> Change | None:
    text = case.path.read_text("utf-8-sig", "replace")
    try:
        document = json.loads(text)
        found = _changed_value(document, random, kind)
        return found and Change(kind, found[0], json.dumps(found[1]).encode(), found[2])
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
    number = random.randrange(len(lines))
    found = _changed_value(json.loads(lines[number]), random, kind)
    if found is None:
        return None
    lines[number] = json.dumps(found[1])
    return Change(kind, f"line {number + 1}: {found[0]}", ("\n".join(lines) + "\n").encode(), found[2])


def _changed_value(document: Any, random: Random, kind: str) -> tuple[str, Any, str] | None:
    """The place, the document with another value there or none, and the place with what was there."""
    ways = [way for way in places(document) if way]
    if kind == "worse":
        ways = [way for way in ways if _worse(way, at(document, way)) is not None]
        if not ways:
            return None
        way = random.choice(ways)
        return ".".join(map(str, way)), put(document, way, _worse(way, at(document, way))), ""
    members = [way for way in ways if isinstance(way[-1], str) and at(document, way) is not None]
    if not members:
        return None
    way = random.choice(members)
    place, gone = ".".join(map(str, way)), json.dumps(at(document, way))
    rest = without(document, way) if random.random() < 0.5 else put(document, way, None)
    return place, rest, f"{place} {gone}"


def _worse(way: tuple[Any, ...], value: Any) -> Any:
    """A value that is surely worse, or None; what stands under a key that tells of something bad is left alone."""
    key = next((step for step in reversed(way) if isinstance(step, str)), "")
    if any(BAD.search(step) for step in way if isinstance(step, str)):
        return None
    if isinstance(value, bool | str):
        return VERDICTS.get(value)
    if isinstance(value, int | float) and SCORES.match(key) and 0 < value <= 1:
        return 0 if isinstance(value, int) else 0.0
    return None


def _changed_cell(case: Case, random: Random, kind: str) -> Change | None:
    lines = case.path.read_text("utf-8").splitlines()
    if len(lines) < 2:
        return None
    number = random.randrange(1, len(lines))
    cells = lines[number].split(",")
    ways = [at_ for at_, cell in enumerate(cells) if (cell == "true" if kind == "worse" else cell and at_)]
    if not ways or '"' in lines[number]:
        return None
    way = random.choice(ways)
    cells[way] = "false" if kind == "worse" else ""
    lines[number] = ",".join(cells)
    column = lines[0].split(",")[way]
    return Change(kind, f"line {number + 1}, {column}", ("\n".join(lines) + "\n").encode(), column)


# --- the law -------------------------------------------------------------------------------------


def broken(case: Case, change: Change, folder: Path) -> str | None:
    """Which rule rose by the change, in words; None if none did."""
    path = folder / case.path.name
    path.write_bytes(change.data)
    after = outcomes(path, case.policy)
    if after is None:
        return None
    metrics = {f"rules[{number}]": rule["metric"] for number, rule in enumerate(case.policy["rules"])}
    risen = [
        rule
        for rule, rank in after.items()
        if _rose(change.kind, case.before.get(rule, 0), rank)
        and not any(exception(case, change, metrics.get(rule, "")) for exception in EXCEPTIONS.values())
    ]
    if not risen:
        return None
    traceless = change.kind == "taken" and case.tool in TRACELESS and not _counted(case)
    if traceless and not _passes_with_suite(case, path, folder):
        return None
    rules = [f"rules[{n}] {rule['metric']} {rule['threshold']}" for n, rule in enumerate(case.policy["rules"])]
    return f"{case.tool}: {case.path.name}: {change.kind} {change.what}: {', '.join(risen)} rose; {rules}"


def _counted(case: Case) -> bool:
    """Whether this is a report in which every suite counts its tests, failures and errors."""
    if case.tool != "junit":
        return False
    suites = re.findall(r"<testsuite\b[^>]*>", case.path.read_text("utf-8", "replace"))
    return bool(suites) and all(f" {name}=" in suite for suite in suites for name in ("tests", "failures", "errors"))


def _rose(kind: str, before: int, after: int) -> bool:
    return after > before if kind == "worse" else before < RANK["pass"] == after


def _passes_with_suite(case: Case, path: Path, folder: Path) -> bool:
    """Whether the changed file passes although a suite says what the intact one held."""
    if not case.suite:
        return False
    (folder / "suite.json").write_text(json.dumps(list(case.suite)), "utf-8")
    after = outcomes(path, {**case.policy, "suite": str(folder / "suite.json")})
    return after is not None and after["verdict"] == RANK["pass"]


def _may_be_worse(tool: str, path: Path) -> bool:
    """Whether a file says something which could be worse, without a check: nothing is judged of one that does not."""
    if tool == "select":
        return True  # the rows are first tagged
    with suppress(ValueError, InputError):  # of a file that is no JSON, or no archive; a check says so
        return changed(Case(tool, path, {}, {}), Random(0), "worse") is not None
    return False


class Cases:
    """The cases of some tools, each made when it is first asked for."""

    def __init__(self, tools: set[str]) -> None:
        self.files = known_files(tools)
        self._makes_reports = not tools or "junit" in tools
        self._made: dict[tuple[str, Path], Case | None] = {}
        self._folder = Path(tempfile.mkdtemp())  # of cases that are made
        weakref.finalize(self, shutil.rmtree, self._folder)

    def keep(self, few: int) -> None:
        """Only the smallest files that are judged as they are, and that say something which could be worse."""
        by_size = sorted(self.files, key=lambda one: one[1].stat().st_size)
        found: list[tuple[str, Path]] = []
        for tool, path in by_size:
            case = self._case(tool, path) if len(found) < few and _may_be_worse(tool, path) else None
            if case is not None and changed(case, Random(0), "worse") is not None:
                found.append((tool, path))
        self.files = found

    def _case(self, tool: str, path: Path) -> Case | None:
        if (tool, path) not in self._made:
            self._made[tool, path] = case_of(tool, path, self._folder)
        return self._made[tool, path]

    def attempt(self, seed: int, folder: Path) -> str:
        """One change from a seed; raises AssertionError if it breaks the law."""
        random = Random(seed)
        if self._makes_reports and random.random() < MADE_UP:
            return f"junit: {junit_trees.attempt(random.getrandbits(32), folder)}"
        case = self._case(*random.choice(self.files))
        if case is None:
            return "refused as it is"
        kind = random.choice(("worse", "taken"))
        change = changed(case, random, kind)
        if change is None:
            return "nothing to change"
        told = broken(case, change, folder)
        assert told is None, told
        return f"{case.tool}: {kind}"


def attempts_on(tools: set[str]) -> Callable[[int, Path], str]:
    """For `tests.fuzzing`: one change from a seed, to a file of these tools or of all."""
    made: list[Cases] = []

    def attempt(seed: int, folder: Path) -> str:
        if not made:
            made.append(Cases(tools))
        return made[0].attempt(seed, folder)

    return attempt
