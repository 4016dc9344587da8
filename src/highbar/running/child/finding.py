"""`module:function` → the function and how it is called, or why it cannot be used, with a hint."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from highbar.running.child.values import describe_error


class NoFunction(Exception):
    """A function cannot be used. `fields` are those of a Problem."""

    def __init__(self, message: str, hint: str | None = None, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.fields = {"message": message, "hint": hint, "file": file, "line": line}


def find_function(name: str, folder: str) -> Callable[..., Any]:
    """Find the function in the suite's folder, or else in an installed module. Raises NoFunction if that fails."""
    module_name, _, path = name.partition(":")
    _refuse_taken(module_name, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except BaseException as error:  # the user's code runs here: its SystemExit or KeyboardInterrupt must not end us
        raise _not_imported(name, module_name, folder, error) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise _not_there(name, found, part)
        found = getattr(found, part)
    if inspect.isclass(found):
        raise NoFunction(
            f"{name} is a class, wanted a function", "name a function, a method, or an object with __call__"
        )
    if not callable(found):
        raise NoFunction(f"{name} is a {type(found).__name__}, wanted a function")
    return found  # type: ignore[no-any-return]


def find_check(name: str, folder: str) -> Callable[..., Any]:
    """Find the function of a check, which takes one argument and is not async. Raises NoFunction."""
    function = find_function(name, folder)
    if is_async(function):
        raise NoFunction(f"{name} is async, wanted a plain function", None, *_where(function))
    _refuse_arguments(name, function, {}, "write one parameter: the answer, as a mapping")
    return function


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call returns something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def takes_scenario(name: str, function: Callable[..., Any]) -> bool:
    """Whether the function also takes the scenario. Raises NoFunction if it cannot be called like an agent."""
    wants = has_scenario_parameter(function)
    hint = "write one parameter, and if needed a second one named `scenario`"
    _refuse_arguments(name, function, {"scenario": None} if wants else {}, hint)
    return wants


def has_scenario_parameter(function: Callable[..., Any]) -> bool:
    """Whether a parameter after the first one is named `scenario`."""
    signature = _signature(function)
    return signature is not None and "scenario" in list(signature.parameters)[1:]


def _refuse_arguments(name: str, function: Callable[..., Any], named: dict[str, None], hint: str) -> None:
    """Raise NoFunction if the function cannot be called with one argument and these `named` ones."""
    signature = _signature(function)
    try:
        if signature is not None:
            signature.bind(None, **named)
    except TypeError as error:
        raise NoFunction(f"{name} takes {signature}, wanted one parameter", hint, *_where(function)) from error


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature; None if there is none, as for some functions written in C."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _refuse_taken(module: str, folder: str) -> None:
    """Raise NoFunction if a module in the suite's folder has the name of a loaded one, which would be used instead."""
    top = module.partition(".")[0]
    beside = os.path.join(folder, top)  # noqa: PTH118  # pathlib is slow to load
    loaded = sys.modules.get(top)
    if loaded is None or not (os.path.exists(beside + ".py") or os.path.isdir(beside)):  # noqa: PTH110, PTH112
        return
    origin = os.path.realpath(getattr(loaded, "__file__", None) or "")
    if not origin.startswith(os.path.realpath(folder) + os.sep):
        raise NoFunction(f"{top} is the name of another module, which is loaded already", f"rename {beside}.py")


def _not_imported(name: str, module: str, folder: str, error: BaseException) -> NoFunction:
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    if absent is not None and f"{module}.".startswith(f"{absent}."):
        hint = f"put it into {folder}, beside the suite file, or install it; the working folder is not searched"
        return NoFunction(f"there is no module {absent}, wanted {name}", hint)
    place = (error.filename, error.lineno) if isinstance(error, SyntaxError) else _raised_at(error)
    needed = f"install what it needs, in the environment of {sys.executable}" if absent is not None else None
    return NoFunction(f"{module} cannot be imported: {describe_error(error)}", needed, *place)


def _raised_at(error: BaseException) -> tuple[str | None, int | None]:
    """The last file and line outside of the import system that led to an exception."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames[1:] if not frame.filename.startswith("<")]
    return (own[-1].filename, own[-1].lineno) if own else (None, None)


def _not_there(name: str, holder: Any, part: str) -> NoFunction:
    import difflib  # slow to load, and needed for a wrong name alone

    names = [one for one in dir(holder) if not one.startswith("_") and callable(getattr(holder, one, None))]
    near = difflib.get_close_matches(part, names, 1)
    where = getattr(holder, "__name__", type(holder).__name__)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(names[:10])}" if names else None
    return NoFunction(f"there is no {part} in {where}, wanted {name}", hint, getattr(holder, "__file__", None))


def _where(function: Callable[..., Any]) -> tuple[str | None, int | None]:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else (None, None)
