"""What makes the source hard to hold in the head, counted without running it; `walk.py` prints it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

MUTABLE = re.compile(r"(list|dict|set|bytearray|defaultdict|Counter|deque|OrderedDict|Mutable\w+)\b")
LIMIT = re.compile(r"_?(MOST|LARGEST|LONGEST|DEEPEST|HIGHEST|MAX|FEW|LEAST|SMALLEST|MANY)_")
DIRECTIVE = re.compile(r"#\s*(noqa|type:|pragma|!)")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the source."""

    path: Path
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]  # of the whole tree: walking it takes longer than all the rest

    @property
    def lines(self) -> list[str]:
        """Its lines, empty ones and comments too."""
        return self.text.splitlines()


@dataclass(frozen=True, slots=True)
class Count:
    """One line of the table, and the places behind the number if there are few enough to be of use."""

    what: str
    number: str
    places: tuple[str, ...] = ()


def modules(package: Path) -> list[Module]:
    """Every file of the package, parsed."""
    texts = {path.relative_to(package): path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    return [Module(path, text, trees[path], tuple(ast.walk(trees[path]))) for path, text in texts.items()]


def counts(package: Path) -> Iterator[Count]:
    """Every count of the source, in the order of the table."""
    source = modules(package)
    yield repeated("class names that stand for two or more things", class_places(source))
    inside, silent = local_imports(source)
    yield Count("imports inside functions", f"{inside}")
    yield Count("imports inside functions without a reason beside them", f"{len(silent)}", tuple(silent))
    fields = mutable_fields(source)
    yield Count("mutable fields of frozen dataclasses and structs", f"{len(fields)}", tuple(fields))
    lines = sum(len(module.lines) for module in source)
    comments = sum(1 for module in source for _ in whole_line_comments(module))
    yield Count("comments on lines of their own per 1,000 lines", f"{comments / lines * 1000:.1f}")
    limits, bare = limit_constants(source)
    yield Count("limits: constants named MOST_, LARGEST_, MAX_, FEW_ …", f"{len(limits)}", tuple(limits))
    yield Count("limits without a reason beside them", f"{len(bare)}", tuple(bare))


def classes(source: list[Module]) -> Iterator[tuple[Module, ast.ClassDef]]:
    """Every class, nested ones too."""
    for module in source:
        yield from ((module, node) for node in module.nodes if isinstance(node, ast.ClassDef))


def is_record(node: ast.ClassDef, *, frozen: bool = False) -> bool:
    """If the class is a dataclass or one of msgspec's structs, with `frozen=True` if that is wanted."""
    for decorator in map(ast.unparse, node.decorator_list):
        if re.match(r"(dataclasses\.)?dataclass\b", decorator):
            return not frozen or "frozen=True" in decorator
    if not any(re.fullmatch(r"(msgspec\.)?Struct", ast.unparse(base)) for base in node.bases):
        return False
    return not frozen or any(each.arg == "frozen" and ast.unparse(each.value) == "True" for each in node.keywords)


def class_places(source: list[Module]) -> dict[str, list[str]]:
    """Where each class name is defined; `_Suite` and `Suite` are one name to a reader."""
    places: dict[str, list[str]] = {}
    for module, node in classes(source):
        places.setdefault(node.name.lstrip("_"), []).append(f"{module.path}:{node.lineno}")
    return places


def repeated(what: str, places: Mapping[str, list[str]]) -> Count:
    """The names with two places or more, and how many places these are together."""
    several = {name: found for name, found in sorted(places.items()) if len(found) > 1}
    total = sum(map(len, several.values()))
    named = tuple(f"{name}: {', '.join(found)}" for name, found in several.items())
    return Count(what, f"{len(several)} ({total} places)", named)


def local_imports(source: list[Module]) -> tuple[int, list[str]]:
    """How many imports are inside functions, and which have no comment on their line or above their group."""
    found, silent = 0, []
    for module in source:
        for number in sorted(import_lines(module)):
            found += 1
            if not explained(module.lines, number):
                silent.append(f"{module.path}:{number} {module.lines[number - 1].strip()}")
    return found, silent


def import_lines(module: Module) -> set[int]:
    """The first line of every import inside a function."""
    functions = [node for node in module.nodes if isinstance(node, Function)]
    inside = {line for node in functions for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return {node.lineno for node in module.nodes if isinstance(node, ast.Import | ast.ImportFrom)} & inside


def explained(lines: list[str], number: int) -> bool:
    """If the line has a comment, or the group of imports that it belongs to has one above it."""
    if has_comment(lines[number - 1]):
        return True
    above = number - 1
    while above and re.match(r"\s*(import|from) ", lines[above - 1]):
        above -= 1
    return bool(above) and lines[above - 1].lstrip().startswith("#")


def has_comment(line: str) -> bool:
    """If the line of an import ends with a comment that is not an order to a tool."""
    comment = re.search(r"#.*", line)
    return comment is not None and (DIRECTIVE.match(comment[0]) is None or " - " in comment[0])


def mutable_fields(source: list[Module]) -> list[str]:
    """Fields whose annotation is a list, a dict, a set or the like."""
    return [
        f"{module.path}:{field.lineno} {node.name}.{ast.unparse(field.target)}"
        for module, node in classes(source)
        if is_record(node, frozen=True)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and MUTABLE.match(ast.unparse(field.annotation))
    ]


def whole_line_comments(module: Module) -> Iterator[str]:
    """Comments on lines of their own: those say why, those at the end of a line mostly what. Each line counts."""
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#") and not DIRECTIVE.match(token.string):
            yield token.string


def limit_constants(source: list[Module]) -> tuple[list[str], list[str]]:
    """Constants of a module whose name says that they are a limit, and those of them that do not say why."""
    found, bare = [], []
    for module in source:
        for node, after in zip_longest(module.tree.body, module.tree.body[1:]):
            names = [f"{module.path}:{node.lineno} {name}" for name in assigned(node) if LIMIT.match(name)]
            found += names
            # The reason is a text below the constant, or a comment beside or above it.
            around = module.lines[max(node.lineno - 2, 0) : node.lineno]
            if not is_text(after) and not around[0].lstrip().startswith("#") and "#" not in around[-1]:
                bare += names
    return found, bare


def assigned(node: ast.stmt) -> list[str]:
    """The names that a statement of a module assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]


def is_text(node: ast.stmt | None) -> bool:
    """If a statement is nothing but a text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
