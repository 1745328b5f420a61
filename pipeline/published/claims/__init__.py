"""Numbers that were published about a run, and what they come to when they are computed again."""
