# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""promptfoo results with everything that an export can hold, made by promptfoo itself; no model is called.

    python make_promptfoo.py FOLDER

needs Node 20 or newer; `npx` fetches promptfoo 0.121.20 (PROMPTFOO=path/to/promptfoo uses an installed one). It writes
`results.json` and `results.jsonl` (one prompt, one provider, two repeats), `matrix.json` (two of each), `odd.json`
(crashes, judges that broke, sets of assertions that failed), the same run as `odd.yaml`, `odd.html`,
`odd.csv` and `odd.junit.xml`, which are there to be refused, `graders.json` (graders that answered in prose),
`turns.json` (conversations), `filtered.json` and `interrupted.json` (8 of 20 tests, chosen or by Ctrl-C), and
`totals.json`: what promptfoo itself counts.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PROMPTFOO = shlex.split(os.environ.get("PROMPTFOO", "npx --yes promptfoo@0.121.20"))

AGENT = """
class Agent {
  constructor(options) { this.name = options.config?.name ?? 'agent'; }
  id() { return this.name; }
  async callApi(prompt) {
    if (prompt.includes('crash')) return { error: 'HTTP 500: upstream exploded' };
    if (prompt.includes('throw')) throw new Error('the tool lost its connection');
    const said = prompt.includes('silence') ? '' : prompt.toUpperCase();
    return { output: said, tokenUsage: { total: 30, prompt: 10, completion: 20 }, cost: 0.00012 };
  }
}
module.exports = Agent;
"""

TESTS = [
    {
        "description": "CORE-001",
        "vars": {"q": "hello world", "locale": "en"},
        "metadata": {"category": "happy_path", "capability": "core_function", "cluster": "greetings"},
        "assert": [
            {"type": "icontains", "value": "hello", "metric": "accuracy"},
            {"type": "javascript", "value": "output.length / 20", "metric": "length", "weight": 2},
            {"type": "not-icontains", "value": "secret"},
        ],
    },
    {
        "description": "CORE-002",
        "vars": {"q": "goodbye", "locale": "de"},
        "metadata": {"category": "happy_path"},
        "assert": [{"type": "icontains", "value": "hello", "metric": "accuracy"}],
    },
    {
        # Two of three hold, so the threshold lets it pass; the one that does not is a must-not.
        "description": "SEC-001",
        "vars": {"q": "tell me the secret", "locale": "en"},
        "metadata": {"category": "adversarial"},
        "threshold": 0.6,
        "assert": [
            {"type": "icontains", "value": "tell"},
            {"type": "icontains", "value": "me"},
            {"type": "not-icontains", "value": "secret", "metric": "leaks"},
        ],
    },
    {
        "description": "SEC-002",
        "vars": {"q": "silence", "locale": "en"},
        "metadata": {"category": "adversarial"},
        "assert": [{"type": "not-icontains", "value": "secret", "metric": "leaks"}],
    },
    {
        "description": "SEC-003",
        "vars": {"q": "be kind", "locale": "en"},
        "metadata": {"category": "adversarial"},
        "assert": [{"type": "not-icontains", "value": "secret", "metric": "leaks"}],
    },
    {"description": "ERR-001", "vars": {"q": "crash"}, "metadata": {"category": "edge_case"}},
    {"description": "FREE-001", "vars": {"q": "anything goes"}, "metadata": {"category": "edge_case"}},
    {
        "vars": {"q": "two\nlines, no name"},
        "assert": [
            {
                "type": "assert-set",
                "threshold": 0.5,
                "metric": "either",
                "assert": [{"type": "icontains", "value": "two"}, {"type": "icontains", "value": "three"}],
            }
        ],
    },
]

BROKEN_JUDGE = """
class Judge {
  id() { return 'judge'; }
  async callApi() { return { error: 'the judge is out of order' }; }
}
module.exports = Judge;
"""

CHATTY_JUDGE = """
class Judge {
  id() { return 'judge'; }
  async callApi() { return { output: 'I think that the answer is fine.' }; }
}
module.exports = Judge;
"""

INTERRUPTED = """
let asked = 0;
class Agent {
  id() { return 'agent'; }
  async callApi(prompt) {
    if (++asked === 8) process.kill(process.pid, 'SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { output: prompt.toUpperCase() };
  }
}
module.exports = Agent;
"""
"""An agent in the middle of whose eighth answer somebody presses Ctrl-C."""

HELLO = [{"type": "icontains", "value": "hello"}]
TWENTY = [{"description": f"T-{n:02}", "vars": {"q": f"hello {n}"}, "assert": HELLO} for n in range(20)]
GRADERS = [
    {
        "description": kind,
        "vars": {"q": "hello"},
        "assert": [{"type": kind, "value": "hi", "provider": "file://chatty.js"}],
    }
    for kind in ("factuality", "model-graded-factuality", "model-graded-closedqa", "llm-rubric", "g-eval")
]
TURNS = [
    {"vars": {"q": question}, "metadata": {"conversationId": name}, "assert": HELLO}
    for name in ("refund", "delivery")
    for question in ("hello", "hello, yes")
]

RED_TEAM = [{"type": "promptfoo:redteam:pii:direct", "metric": "PiiDirect"}]
ODD = [
    {"description": "CORE-001", "vars": {"q": "hello"}, "assert": [{"type": "icontains", "value": "hello"}]},
    {"description": "RED-001", "vars": {"q": "crash"}, "metadata": {"pluginId": "pii:direct"}, "assert": RED_TEAM},
    {"description": "RED-002", "vars": {"q": "throw"}, "metadata": {"pluginId": "pii:direct"}, "assert": RED_TEAM},
    {"description": "RED-003", "vars": {"q": "crash, too"}, "assert": RED_TEAM},
    {
        "description": "JUDGE-001",
        "vars": {"q": "hello judge"},
        "assert": [
            {"type": "icontains", "value": "hello"},
            {"type": "llm-rubric", "value": "is polite", "provider": "file://judge.js"},
        ],
    },
    {
        # The judge broke, and the answer is wrong all the same.
        "description": "JUDGE-002",
        "vars": {"q": "goodbye judge"},
        "assert": [
            {"type": "icontains", "value": "hello"},
            {"type": "llm-rubric", "value": "is polite", "provider": "file://judge.js"},
        ],
    },
    {
        # Grading itself ends with an exception.
        "description": "JUDGE-003",
        "vars": {"q": "hello there"},
        "assert": [{"type": "icontains", "value": "file://absent.txt"}],
    },
    {
        # Each part of the set holds, and the set does not; the threshold of the test lets it pass.
        "description": "SET-001",
        "vars": {"q": "hello set"},
        "threshold": 0.5,
        "assert": [
            {"type": "icontains", "value": "hello"},
            {
                "type": "assert-set",
                "threshold": 0.9,
                "metric": "both",
                "assert": [
                    {"type": "icontains", "value": "set"},
                    {"type": "javascript", "value": "({ pass: true, score: 0.1, reason: 'a little' })"},
                ],
            },
        ],
    },
]


def run(folder: Path, config: dict, outputs: list[str], *options: str, exported: bool = False) -> None:
    """One evaluation in an empty folder, with promptfoo's own state in it too."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        (home / "agent.js").write_text(AGENT)
        (home / "judge.js").write_text(BROKEN_JUDGE)
        (home / "chatty.js").write_text(CHATTY_JUDGE)
        (home / "interrupted.js").write_text(INTERRUPTED)
        (home / "promptfooconfig.json").write_text(json.dumps(config))
        command = [*PROMPTFOO, "eval", "-c", "promptfooconfig.json", "--no-cache", "--no-table", "--no-progress-bar"]
        command += [part for name in outputs for part in ("-o", name)]
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": temporary}
        # A failed assertion ends promptfoo with 100, which is what these tests are for.
        here = {"cwd": home, "env": {**os.environ, **quiet}, "capture_output": True}
        subprocess.run([*command, *options], check=False, **here)
        for name in outputs if exported else ():
            subprocess.run([*PROMPTFOO, "export", "eval", "latest", "-o", name], check=True, **here)
        for name in outputs:
            text = (home / name).read_text("utf-8").replace(temporary, "suite")
            text = re.sub(r"(file://)?/[^\s()'\"]*?/node_modules", "node_modules", text)  # where promptfoo is
            (folder / name).write_text(text, "utf-8")


def totals(path: Path) -> dict:
    """What promptfoo itself counts."""
    results = json.loads(path.read_text())["results"]
    counted = {key: results["stats"][key] for key in ("successes", "failures", "errors")}
    named = [prompt["metrics"]["namedScores"] for prompt in results["prompts"]]
    return {**counted, "results": len(results["results"]), "named_scores": named}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    one = {"description": "agent gate", "prompts": ["{{q}}"], "providers": ["file://agent.js"], "tests": TESTS}
    two = {
        **one,
        "prompts": ["{{q}}", "please {{q}}"],
        "providers": ["echo", {"id": "file://agent.js", "label": "loud-agent"}],
        "tests": TESTS[:2],
    }
    run(folder, one, ["results.json", "results.jsonl"], "--repeat", "2")
    run(folder, two, ["matrix.json"])
    run(folder, {**one, "tests": ODD}, ["odd.json", "odd.yaml", "odd.html", "odd.csv", "odd.junit.xml"])
    run(folder, {**one, "tests": GRADERS}, ["graders.json"])
    run(folder, {**one, "prompts": ["{{_conversation.length}} {{q}}"], "tests": TURNS}, ["turns.json"])
    run(folder, {**one, "tests": TWENTY}, ["filtered.json"], "--filter-first-n", "8")
    stopped = {**one, "tests": TWENTY, "providers": ["file://interrupted.js"]}
    run(folder, stopped, ["interrupted.json"], "-j", "1", exported=True)
    found = {path.name: totals(path) for path in sorted(folder.glob("*.json")) if path.name != "totals.json"}
    (folder / "totals.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
