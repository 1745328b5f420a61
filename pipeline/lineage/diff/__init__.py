"""What differs between two runs, which cells changed, and how the leaderboard moved because of what."""
