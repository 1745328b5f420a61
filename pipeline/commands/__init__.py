"""Commands: parse options, call, print. No logic."""
