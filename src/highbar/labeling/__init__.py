"""Results of a judged run in; a random sample of its trials out, for people to label.

`rows` reads the judged trials, `drawing` draws the sample, `conversation` makes what people see of a trial, `page`
asks about them.
"""
