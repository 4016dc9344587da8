"""A history is a folder of Parquet files, which Spark reads as one table."""

from __future__ import annotations

from tests.history_runs import add, new_run


def test_spark_reads_a_folder_of_records(spark, tmp_path):
    runs = [new_run(number) for number in range(3)]
    add(tmp_path, *runs)
    table = spark.read.parquet(str(tmp_path))
    found = {row["id"]: (row["passed"], row["trials"]) for row in table.groupBy("id").sum("passed", "trials").toDF(
        "id", "passed", "trials"
    ).collect()}  # fmt: skip
    expected = {}
    for run in runs:
        for one in run.scenarios:
            passed, trials = expected.get(one.id, (0, 0))
            expected[one.id] = passed + one.passed, trials + one.trials
    assert found == expected
