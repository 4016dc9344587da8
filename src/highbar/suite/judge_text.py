"""The text that names a judge outside of a suite, in `--judge` or from Python → the judge.

some-model@https://host/v1              a model behind an OpenAI-compatible endpoint, with its base address
anthropic:some-model@https://host/v1    a model behind an endpoint for messages in Anthropic's format
python:module:function                  a function

The key is the value of the variable JUDGE_KEY, if that is set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from highbar.documents.problems import ValueCursor, shown
from highbar.documents.python_values import plain_suite
from highbar.errors import InputError, Problem
from highbar.suite.judge_settings import FORMATS, read_judge_settings
from highbar.suite.parts import Judge
from highbar.suite.settings import variables_in_settings

KEY = "JUDGE_KEY"
"""The environment variable with the key of a judge that is named outside of a suite."""
_FORMS = "write MODEL@https://host/v1, anthropic:MODEL@https://host/v1 or python:module:function"
_ADDRESS = re.compile(r"@(?=https?://|\$\{)")


def read_judge_text(text: str, environment: Mapping[str, str]) -> Judge:
    """The judge that a text names. Raises InputError if the text does not name one.

    >>> read_judge_text("openai:some-model@https://host/v1", {}).model
    'some-model'
    >>> read_judge_text("some-model@https://host/v1", {"JUDGE_KEY": "secret"}).key
    '${JUDGE_KEY}'
    """
    given = text.strip()
    kind, _, rest = given.partition(":")
    if kind == "python":
        return _read({"python": rest.strip()})
    format_, named = (kind, rest) if kind in FORMATS else ("openai", given)
    model, *address = _ADDRESS.split(named, maxsplit=1)
    if not address:
        raise InputError(Problem("judge.unreadable", f"found {shown(text)}, wanted a judge", hint=_hint(given)))
    key = {"key": f"${{{KEY}}}"} if environment.get(KEY) else {}
    return _read({"model": model.strip(), "base_url": address[0].strip(), "format": format_, **key})


def read_judge_values(values: Mapping[str, Any]) -> Judge:
    """The judge that a mapping describes, with the keys of a suite's `judge`. Raises InputError with all problems."""
    return _read(plain_suite(values))


def _read(fields: Mapping[str, Any]) -> Judge:
    place = ValueCursor(("judge",), [])
    judge = read_judge_settings(fields, place)
    list(
        variables_in_settings({"judge": fields}, ValueCursor(problems=place.problems))
    )  # only to note every ${…} that is not a variable's name
    if place.problems or judge is None:
        problems = ((": ".join(["the judge", *map(str, one.path[1:])]), one) for one in place.problems)
        raise InputError(*(Problem(one.code, f"{where}: {one.text}", hint=one.hint) for where, one in problems))
    return judge


def _hint(text: str) -> str:
    if re.match(r"https?://", text):
        return f"which model? write MODEL@{text[:60]}"
    if re.fullmatch(r"[\w.]+:[^\W\d]\w*", text) and text.partition(":")[0] not in FORMATS:
        return f"did you mean python:{text[:60]}?"
    return _FORMS
