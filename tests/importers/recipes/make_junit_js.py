# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""JUnit XML of JavaScript runners: jest with jest-junit, mocha with mocha-junit-reporter, and node's own reporter.

    python make_junit_js.py FOLDER

needs npm, which installs the runners and two versions of node into a temporary folder. It writes `jest.xml` (todos that
took as little time as other tests), `jest_todo.xml` (a todo that did not), `jest_broken.xml` (a file and a hook that
broke), `mocha.xml` and `mocha_pending.xml` (without and with `includePending`), of node 20 and 24 `node….xml` (nested
suites, todos that failed), `node…_subtests.xml` (tests with subtests) and `node…_alone.xml` (one that failed by
itself), and `totals.json`: what the runners themselves count.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ("jest@30.5.2", "jest-junit@17.0.0", "mocha@10.8.2", "mocha-junit-reporter@2.2.1")
NODES = {"20": "node@20.20.2", "24": "node@24.21.0"}

JEST = {
    "jest": """
describe('mixed', () => {
  test('same name', () => {});
  test('same name', () => {});
  test.todo('later');
  test('fails', () => { throw new Error('no') });
  test.skip('skipped', () => {});
});
""",
    "jest_todo": """
const slow = () => new Promise((done) => setTimeout(done, 20));
describe('slow', () => {
  test('same name', slow);
  test('same name', slow);
  test.todo('later');
});
""",
    "jest_broken": """
test('passes', () => new Promise((done) => setTimeout(done, 20)));
afterAll(() => { throw new Error('the hook broke') });
""",
}
BROKEN_FILE = "throw new Error('the file broke');\n"

MOCHA = """
describe('mixed', () => {
  it('same name', () => {});
  it('same name', () => {});
  it('later');
  it.skip('skipped', () => {});
  it('fails', () => { throw new Error('no') });
  describe('inner', () => { it('same name', () => {}) });
});
"""

NODE = {
    "": """
import { test, describe, it } from 'node:test';
test('same name', () => {});
test('same name', () => {});
test('fails', () => { throw new Error('no') });
test('todo that passes', { todo: true }, () => {});
test('todo that fails', { todo: 'later' }, () => { throw new Error('not yet') });
test('skipped', { skip: true }, () => {});
describe('outer', () => {
  it('passes', () => {});
  describe('inner', () => {
    it('passes', () => {});
    it('fails', () => { throw new Error('no') });
    it.todo('later');
    describe('innermost', () => { it('passes', () => {}); it('passes too', () => {}); });
  });
  describe('other', () => { it('passes', () => {}); it.skip('skipped', () => {}); });
});
""",
    "_subtests": """
import { test } from 'node:test';
test('passes', async (t) => { await t.test('one', () => {}); await t.test('two', () => {}); });
test('fails', async (t) => {
  await t.test('one', () => {});
  await t.test('deeper', async (t) => { await t.test('two', () => { throw new Error('no') }) });
});
""",
    "_alone": """
import { test } from 'node:test';
test('passes', () => {});
test('failed by itself', async (t) => { await t.test('one', () => {}); throw new Error('no'); });
""",
}


def run(folder: Path, command: list[str], **more: str) -> str:
    """The standard output of a command, whose tests may fail."""
    environment = {
        "PATH": f"{folder / 'node_modules' / '.bin'}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        **more,
    }
    done = subprocess.run(
        command, cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    return done.stdout.decode()


def jest(work: Path, name: str) -> dict:
    """The report of one run of jest, and what jest counts."""
    tests = work / name
    tests.mkdir()
    (tests / "a.test.js").write_text(JEST[name])
    if name == "jest_broken":
        (tests / "b.test.js").write_text(BROKEN_FILE)
    options = {"JEST_JUNIT_OUTPUT_FILE": f"{name}.xml", "JEST_JUNIT_REPORT_TEST_SUITE_ERRORS": "true"}
    reporters = ["--reporters=jest-junit", "--json", f"--outputFile={name}.json"]
    run(work, ["jest", f"--rootDir={name}", "--config={}", *reporters], **options)
    told = json.loads((work / f"{name}.json").read_text())
    return {kind: told[f"num{kind}Tests"] for kind in ("Passed", "Failed", "Pending", "Todo", "Total")}


def mocha(work: Path, name: str) -> dict:
    """The report of one run of mocha, and what mocha counts."""
    (work / "mocha.test.cjs").write_text(MOCHA)
    options = f"mochaFile={name}.xml" + (",includePending=true" if name == "mocha_pending" else "")
    run(work, ["mocha", "mocha.test.cjs", "--reporter", "mocha-junit-reporter", "--reporter-options", options])
    told = json.loads(run(work, ["mocha", "mocha.test.cjs", "--reporter", "json"]))["stats"]
    return {kind: told[kind] for kind in ("tests", "passes", "pending", "failures")}


def node(work: Path, version: str, kind: str) -> dict:
    """The report of one run of node, and what it counts in TAP."""
    binary = str(work / f"node{version}" / "node_modules" / ".bin" / "node")
    (work / "node.test.mjs").write_text(NODE[kind])
    (work / f"node{version}{kind}.xml").write_text(
        run(work, [binary, "--test", "--test-reporter=junit", "node.test.mjs"])
    )
    told = run(work, [binary, "--test", "--test-reporter=tap", "node.test.mjs"])
    return {name: int(number) for name, number in re.findall(r"^# (\w+) (\d+)$", told, re.MULTILINE)}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        subprocess.run(["npm", "install", "--silent", "--prefix", temporary, *PACKAGES], check=True, cwd=temporary)
        for version, package in NODES.items():
            place = work / f"node{version}"
            place.mkdir()
            subprocess.run(["npm", "install", "--silent", "--prefix", str(place), package], check=True, cwd=place)
        found = {f"{name}.xml": jest(work, name) for name in JEST}
        found |= {f"{name}.xml": mocha(work, name) for name in ("mocha", "mocha_pending")}
        found |= {f"node{version}{kind}.xml": node(work, version, kind) for version in NODES for kind in NODE}
        for name in found:
            text = (work / name).read_text("utf-8").replace(temporary, "suite")
            # Where a test was called, with the places of the modules of this machine, says nothing about it.
            (folder / name).write_text(re.sub(r"\n +at [^\n<\]]*", "", text), "utf-8")
    (folder / "totals.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
