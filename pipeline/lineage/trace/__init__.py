"""From a number of a report down to the bytes it came from, recomputed on the way."""
