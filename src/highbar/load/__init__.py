"""Job in, Results out: which files, in which format, and how many results; if they are refused, exact lines and why.

results                        the whole stage; accounts, counting, footer and spark_files count the results
files, folders                 arguments → files, each with its format
run_folders, foreign           the results of runs and of other tools; unpacking reads compressed files
tables                         objects of Python, pandas, polars, Arrow → a table
refusals, explain, row_faults  a refusal of the engine → which line, what was found, what was wanted; places, hints,
                               duplicate_names
missing_ids, guess, map_text   a file whose rows have no id → a mapping that may read it; sample, candidates, names,
                               verdict_words
row_reading, judged_rows       rows one by one, for code that needs the rows themselves; parquet_rows
revision, ancestry, checkout   what git knows: files at a ref, the commits before a change, the commit of a run
"""
