"""Answers that strict reading takes or refuses, for the tests of settling."""

VALID = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error\ncontextBehavior: used_correctly"
# Stands for VALID with the finish reason of a token limit.
CUT = "cut"
