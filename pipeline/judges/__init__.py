"""Judges: how a request is put to a model, and how its answer is kept."""
