"""A suite file in, a checked suite out: scenarios with their checks, and the settings of agent, judge and run.

    read(path), read_values(mapping)    -> Suite, or InputError with all problems at once
    read_fixed(path)                    -> by id, the columns that results are compared with: a policy's `suite`
    unmet_needs(suite, environment)     -> what a run of the suite still needs, as problems with their lines

`suite.words` describes a suite in sentences; `suite.schema` is the JSON Schema of the file, for editors.
"""

from highbar.suite.identity import Allowed
from highbar.suite.needs import unmet_needs
from highbar.suite.parts import Agent, Behavior, Canary, Judge, RunSettings, Scenario, Suite, Variable
from highbar.suite.reading import read, read_fixed, read_values

__all__ = [
    "Agent",
    "Allowed",
    "Behavior",
    "Canary",
    "Judge",
    "RunSettings",
    "Scenario",
    "Suite",
    "Variable",
    "read",
    "read_fixed",
    "read_values",
    "unmet_needs",
]
