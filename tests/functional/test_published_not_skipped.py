"""Where the published runs are, their tests must run: a folder that is incomplete is no reason to skip."""

from __future__ import annotations

import pytest
from published_data import ABSENT, FOLDER, NEEDED, REASON


@pytest.mark.skipif(ABSENT, reason=REASON)
@pytest.mark.parametrize("name", NEEDED)
def test_the_file_can_be_read(name: str) -> None:
    path = FOLDER / name
    assert path.is_file(), f"{path} is missing: complete the folder, or mend or unset CTXEVAL_PUBLISHED"
    assert path.stat().st_size > 0
    with path.open("rb") as handle:
        assert handle.read(1)
