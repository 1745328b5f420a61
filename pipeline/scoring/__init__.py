"""From tables to numbers. Engines add integers; every division is done once, in Python."""
