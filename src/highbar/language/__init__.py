"""The small languages of policies and reports: formulas, thresholds, exact numbers, spelling.

formula                        arithmetic and conditions over metrics: text → tree → value and derivative
threshold                      a threshold, a margin, a share, a duration or an amount of money, read exactly
exact, digits                  Fractions as text: exact, or rounded for display but never across a threshold
blank                          whether anything of a text is seen
spelling, phrases              near misses of names; counts and lists as words
tool_names, promptfoo_names    names in files of other tools → ids and columns, for their results and their suites
"""
