"""A suite file in, a checked suite out: scenarios with their checks, and the settings of agent, judge and run.

    read(path), read_values(mapping)    -> Suite, or InputError with all problems at once
    read_fixed(path)                    -> the columns that results are compared with: a policy's `suite`
    unread_columns(file, names)         -> the warning about columns of text that nothing names
    words_elsewhere(path, keys)         -> the InputError about keys that only other tools know
    unmet_needs(suite, environment)     -> what a run of the suite still needs, as problems with their lines

From the file to the suite:

    reading                                the steps in order, and the line of every problem
    decoding; located, csv_rows, cut_texts its text to plain values: fast; and with positions, if something is wrong
    tools                                  the values of another tool's suite to values of ours
    building                               values to a `Suite` (`parts`), block by block:
    settings, judge_settings, secrets          agent, run and judges
    behaviors, canaries, messages              the glossary, and known answers
    identity, scenarios, check_files           scenarios, each with its id and its digest
    own_columns                                keys that Highbar does not know
    values, amounts                            single values of any block

`fixed_columns` reads only what a policy compares. `agent_text` and `judge_text` read what is named outside of a suite.
`words` and `check_words` describe a suite in sentences; `schema` and `check_schema` are its JSON Schema, for editors.
"""

from highbar.suite.needs import unmet_needs
from highbar.suite.own_columns import unread_columns
from highbar.suite.parts import Agent, Behavior, Canary, Judge, RunSettings, Scenario, Suite, Variable
from highbar.suite.reading import read, read_fixed, read_values, words_elsewhere

__all__ = [
    "Agent",
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
    "unread_columns",
    "words_elsewhere",
]
