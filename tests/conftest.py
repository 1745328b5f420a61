"""Makes the helpers in ``tests/support`` importable, and keeps calls to local services off any proxy."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
os.environ["no_proxy"] = "127.0.0.1"
