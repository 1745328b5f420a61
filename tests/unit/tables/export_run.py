"""Build and export a run of many cells: ``export_run.py FOLDER ITEMS SEED``.

The seed decides in which order the inputs are staged, and nothing else.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scoring"))

from tiny_run import TinyRun, answer, item

from pipeline.tables.database import export_tables

TEXTS = [
    answer(minor=("other",), span="a"),
    answer(major=("accuracy/omission", "style/awkward"), span="빵"),
    answer(label="misused_context"),
    "Sorry, I cannot.",
]


def main(folder: Path, items: int, seed: int) -> None:
    run = TinyRun(
        items=[item(f"i{number}", source=f"빵 {number}") for number in range(items)],
        languages=["en", "ja"],
        participants=["p1", "p2", "p3", "p4"],
    )
    cells = [(i.sample_id, lang, p) for i in run.items for lang in run.languages for p in run.participants]
    kinds = random.Random(0)
    known = {}
    for number, cell in enumerate(cells):
        # Every text differs, so that every large table has as many rows as there are cells.
        known[cell] = (f"Answer {number}.\n{kinds.choice(TEXTS)}", f"{kinds.choice('abc')} {number}")
    random.Random(seed).shuffle(cells)
    run.answers = {cell: [known[cell][0]] for cell in cells}
    run.translations = {cell: known[cell][1] for cell in cells}
    with run.tables() as connection:
        export_tables(connection, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
