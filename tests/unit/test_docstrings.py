"""Every example in a docstring runs, and gives what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import highbar

ROOT = Path(highbar.__file__).parent
MODULES = [
    module.name for module in pkgutil.walk_packages(highbar.__path__, "highbar.") if "__main__" not in module.name
]
WITH_EXAMPLES = sorted(
    ".".join(("highbar", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)
"""To look for examples where there are none takes longer than to run those that there are."""


def test_every_module_can_be_loaded():
    for name in MODULES:
        importlib.import_module(name)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_run(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
