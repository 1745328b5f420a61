"""Who holds a lease, and whether that process is still there.

Every open ledger has a file of its own, locked as long as its process lives: the kernel lets go of
the lock however the process ends, so a killed run's leases are free at once, and no process id that
was given away a second time is mistaken for a living owner.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from pathlib import Path

from pipeline.errors import StorageError


class Owner:
    """This process as a holder of leases on the ledger at ``ledger``.

    Raises:
        StorageError: the file cannot be made beside the ledger.
    """

    def __init__(self, ledger: Path) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._folder = ledger.with_name(f"{ledger.name}.owners")
        try:
            self._folder.mkdir(exist_ok=True)
            self._path = self._folder / self.name
            self._handle = self._path.open("wb")
            # Where the file system has no locks, leases end by their time only.
            with contextlib.suppress(OSError):
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StorageError(
                f"cannot write beside the ledger in {self._folder}: {error.strerror}; "
                "make room or make the folder writable"
            ) from None

    def is_gone(self, name: str) -> bool:
        """Whether the owner of that name has ended; its file is then removed."""
        path = self._folder / name
        try:
            with path.open("rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
                return True
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """End as an owner."""
        self._path.unlink(missing_ok=True)
        self._handle.close()
