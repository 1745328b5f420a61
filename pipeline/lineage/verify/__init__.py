"""Everything a run's files say, checked against each other and computed a second time."""
