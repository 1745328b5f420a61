"""Runs published elsewhere: read them, rebuild their reports, compare value by value."""
