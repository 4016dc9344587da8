"""A column without a name is refused in whatever form the results come."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from tests.commandline import refused, run

RULE = {"thresholds": {"blocking": {"pass_rate": "90%"}}}


@pytest.mark.parametrize("name", ["", " "])
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_a_column_without_a_name_is_refused_in_every_file(tmp_path, name, ending):
    row = {"id": "a", "passed": True, name: "x"}
    file = tmp_path / f"r.{ending}"
    if ending == "parquet":
        parquet.write_table(pa.Table.from_pylist([row]), file)
    else:
        forms = {"jsonl": json.dumps(row), "json": json.dumps([row]), "csv": f"id,passed,{name}\na,true,x\n"}
        file.write_text(forms[ending], "utf-8")
    (tmp_path / "policy.json").write_text(json.dumps(RULE), "utf-8")
    done = run(tmp_path, "check", file.name, "--policy", "policy.json", "--format", "json")
    refused(done, file.name, code="file.not-csv" if (ending, name) == ("csv", "") else "results.unnamed-column")


@pytest.mark.parametrize("form", [list, pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_and_in_every_table(form):
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(form([{"id": "a", "passed": True, "": "x"}]), RULE)
    assert [problem.code for problem in caught.value.problems] == ["results.unnamed-column"]
