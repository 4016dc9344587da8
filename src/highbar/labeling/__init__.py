"""Results of a judged run in; a random sample of its trials out, for people to label.

`rows` reads what a judge judged, `drawing` draws the sample, `conversation` is what people see of a trial, `book` has
the labels that there are, `page` and `terminal` ask for the others.
"""
