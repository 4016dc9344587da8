"""A call of a tool in; its answer or all its problems out, as JSON values. Nothing here knows the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from highbar.errors import HighbarError, InputError, Problem
from highbar.language.spelling import did_you_mean
from highbar.mcp_server.arguments import ProblemAnswer, ToolArguments, brief_problem, path_arguments
from highbar.mcp_server.confinement import Workspace, confined
from highbar.mcp_server.texts import as_document
from highbar.mcp_server.tools import ServerTool

MOST_PROBLEMS = 6000
"""Bytes of an answer that lists problems."""
_MOST_LISTED = 10
"""Problems in one answer: a coding agent pays for every token that it reads."""
_LONGEST_MESSAGE = 1000
"""Characters of a text in such an answer."""
_Arguments = TypeVar("_Arguments", bound=ToolArguments)


class ProblemsAnswer(Struct, frozen=True, omit_defaults=True):
    """Why a tool has no answer."""

    problems: tuple[ProblemAnswer, ...]
    cut: tuple[str, ...] = ()


class Answered(Struct, frozen=True):
    """A document for the client; `is_error` if it lists problems."""

    document: Mapping[str, Any]
    is_error: bool = False


def answer_call(tool: ServerTool, arguments: Mapping[str, Any], workspace: Workspace) -> Answered:
    """Call a tool that only reads. Problems are in the answer, and are not raised."""
    try:
        asked = read_arguments(tool.arguments, arguments, workspace)
        with confined(workspace):
            answer = tool.call(asked, workspace)
        return Answered(as_document(answer, tool.most, tool.hints, tool.longest))
    except HighbarError as error:
        return problems_answer(error)


def problems_answer(error: HighbarError) -> Answered:
    """The problems of an error as a document, each with file, line, message and hint."""
    found = error.problems if isinstance(error, InputError) else (Problem("mcp.failed", str(error)),)
    return Answered(as_document(_problems(found), MOST_PROBLEMS, {}, _LONGEST_MESSAGE), is_error=True)


def read_arguments(type_: type[_Arguments], given: Mapping[str, Any], workspace: Workspace) -> _Arguments:
    """The arguments of a call, checked. Raises InputError with all problems, such as paths outside of the folder."""
    try:
        asked = msgspec.convert(given, type_)
    except msgspec.ValidationError as error:
        raise InputError(_invalid_arguments(str(error), given, type_.__struct_fields__)) from None
    problems: list[Problem] = []
    for name in path_arguments(type_):
        value = getattr(asked, name)
        for path in value if isinstance(value, tuple) else () if value is None else (value,):
            try:
                workspace.inside(path)
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(*problems)
    return asked


def _invalid_arguments(message: str, given: Mapping[str, Any], known: Sequence[str]) -> Problem:
    """The problem of invalid arguments, with the nearest valid name or all of them as a hint."""
    wrong = next((name for name in given if name not in known), None)
    near = None if wrong is None else did_you_mean(wrong, known)
    return Problem("mcp.wrong-arguments", message.rstrip("."), hint=near or f"the arguments are {', '.join(known)}")


def _problems(found: Sequence[Problem]) -> ProblemsAnswer:
    more = len(found) - _MOST_LISTED
    listed = tuple(brief_problem(one) for one in found[:_MOST_LISTED])
    return ProblemsAnswer(listed, (f"{more} more problems",) if more > 0 else ())
