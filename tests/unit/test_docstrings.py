"""Every example in a docstring runs, and gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import highbar

MODULES = [
    module.name for module in pkgutil.walk_packages(highbar.__path__, "highbar.") if "__main__" not in module.name
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
