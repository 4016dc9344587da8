"""Trials in, sums out: the engine scores each trial, sums per scenario, then per group. What comes back is small.

The path of a row, module by module:

    opening                   the table of engines; `reduce` opens one, and compares its number of rows with the files'
    duckdb, spark             the engines; `protocol` is what they have in common, and what another one must offer
    reducing                  runs one request: plans it, defines the relations, refuses bad rows, fetches the sums
    plan, layout              a request → its SQL, and the names of the columns in it
    sources, column_readers   files → raw columns → typed columns
    trials, scoring           typed columns → the relation `trials`: passed, violated, correct … of each
    scenarios, quantities     `trials` → the relation `scenarios`: sums of each, undecided trials at worst or at best
    totals, ratios, ranks     `scenarios`, counted in the relation `profile` → exact sums, their bounds, percentiles

Beside them: `marks` reads `{name: true}`, `sql` quotes, `rank_bounds` and `brackets` help `ranks`, and `spark_session`
and `spark_sql` help `spark`. `query_progress` reports how far a query is, `parquet` writes rows as Parquet.

What refuses rows: row_checks, duplicates. What only some requests need: selecting (`--where`), suite_match,
records (a baseline or a comparison), scenario_lists, details and variants.
"""
