"""Entry point of ``python -m pipeline``."""

from __future__ import annotations

import sys

try:
    from pipeline.cli import main
except ModuleNotFoundError as error:
    sys.exit(f"error: {error.name} is missing from this Python; activate .venv (see README) [exit code 1]")

if __name__ == "__main__":
    main()
