"""The numbers a second time: raw answers to reports in plain Python, by exact fractions.

Nothing here imports the tables' engines, the scoring or the reporting; tests/unit/lineage has a proof.
"""
