"""Run git without a shell, apart from whatever repository the caller's environment points to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pipeline.errors import RevisionError, one_line

# Set while git runs a hook: they would send a command to that repository instead of the folder's own.
_POINTERS = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
)


def environment() -> dict[str, str]:
    """The environment without git's pointers to a repository."""
    return {name: value for name, value in os.environ.items() if name not in _POINTERS}


def git(folder: Path, *arguments: str) -> str:
    """Standard output of ``git ARGUMENTS`` in a folder, without the last line end. Hooks do not run.

    Raises:
        RevisionError: git is not installed or says no; the message holds its last line.
    """
    done = _run(folder, arguments)
    if done.returncode:
        said = one_line((done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2])
        raise RevisionError.at(folder, f"git {arguments[0]} failed ({said[:300]}); mend the repository")
    return done.stdout.rstrip("\n")


def git_or_none(folder: Path, *arguments: str) -> str | None:
    """The same, or None where git says no.

    Raises:
        RevisionError: git is not installed.
    """
    done = _run(folder, arguments)
    return None if done.returncode else done.stdout.rstrip("\n")


def _run(folder: Path, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = ["git", "-c", f"core.hooksPath={os.devnull}", *arguments]
    try:
        return subprocess.run(  # noqa: S603 - a list of arguments, no shell; revisions never stand as options
            command,
            cwd=folder,
            env=environment(),
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
        )
    except FileNotFoundError:
        raise RevisionError(
            f"git is not installed, or {folder} is no folder; install git to look at revisions"
        ) from None
    except (NotADirectoryError, PermissionError) as error:
        raise RevisionError.at(folder, f"git cannot run there ({error.strerror}); name a project") from None
