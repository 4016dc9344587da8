"""A run that is kept, and two runs held against each other: records of scenarios in, differences out.

document  what a baseline holds, its text and back        pairing   two runs → the scenarios that are in both
store     written beside and renamed, one writer at a time  compare   pairs and a policy → a Comparison
"""
