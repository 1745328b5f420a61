"""Scores into files: JSON and CSV reports, Markdown. Computes no number."""
