"""The outputs of a checked-out revision: from the project's DVC cache, or made anew by its own code."""

from __future__ import annotations

import configparser
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline.errors import RevisionError, one_line
from pipeline.layout import CELLS, PARAMS, REQUESTS, RESPONSES, TABLES
from pipeline.lineage.dvc_lock import LockEntry, read_lock
from pipeline.lineage.git import environment, git

_NEEDED = (CELLS, REQUESTS, RESPONSES, TABLES)
# They would put other code in the place of the revision's own.
_OTHER_CODE = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONHOME")
_PATIENCE = 10.0  # seconds from asking a rebuild to stop to ending it


def bring_outputs(project: Path, root: Path, name: str) -> None:
    """Put every output that ``root``'s ``dvc.lock`` lists in its place below ``root``.

    ``root`` is a checkout of a revision of ``project``; ``name`` is what messages call it. The rebuild
    may change files that git tracks in ``root``.

    Raises:
        RevisionError: the outputs are not in the cache and cannot be rebuilt.
    """
    cache = cache_folder(project)
    lock = read_lock(root)
    lacking = [entry for entry in lock.outputs if not _from_cache(cache, root, entry)] if lock else []
    if not lacking and all((root / path).exists() for path in _NEEDED):
        return
    if not (root / "dvc.yaml").is_file():
        raise RevisionError(f"{name} holds no dvc.yaml; name a revision that holds the pipeline")
    _only_recorded_answers(root)
    _reproduce(cache, root, name)


def cache_folder(project: Path) -> Path:
    """The DVC cache of a project, as its ``.dvc/config.local`` or ``.dvc/config`` says; it may not exist.

    In a git worktree without a cache of its own it is that of the main working tree.
    """
    found = _configured_cache(project) or project / ".dvc" / "cache"
    if found.is_dir():
        return found.resolve()
    with contextlib.suppress(RevisionError):
        common = Path(git(project, "rev-parse", "--path-format=absolute", "--git-common-dir"))
        main = common.parent / git(project, "rev-parse", "--show-prefix")
        if common.name == ".git":
            other = _configured_cache(main) or main / ".dvc" / "cache"
            return (other if other.is_dir() else found).resolve()
    return found.resolve()


def _configured_cache(project: Path) -> Path | None:
    for file in ("config.local", "config"):
        parser = configparser.ConfigParser(interpolation=None)
        with contextlib.suppress(configparser.Error, UnicodeDecodeError):
            parser.read(project / ".dvc" / file, encoding="utf-8")
        folder = parser.get("cache", "dir", fallback=None)
        if folder:
            return project / ".dvc" / folder
    return None


def _from_cache(cache: Path, root: Path, entry: LockEntry) -> bool:
    """Copy one output out of the cache unless git brought it; False if the cache lacks a part of it."""
    target = root / entry.path
    if target.exists():
        return True
    listed = entry.cached_files(cache)
    if listed is None or not all(source.is_file() for source, _ in listed):
        return False
    for source, inner in listed:
        place = target / inner if inner else target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    return True


def _only_recorded_answers(root: Path) -> None:
    """Make sure that a rebuild asks no judge, whatever the revision's ``params.yaml`` says."""
    yaml = YAML()
    try:
        params = yaml.load(root / PARAMS)
        if params["judge"].get("offline", True) is not True:
            params["judge"]["offline"] = True
            yaml.dump(params, root / PARAMS)
    except (OSError, YAMLError, KeyError, TypeError, AttributeError) as problem:
        raise RevisionError(
            f"params.yaml of the revision cannot be read ({one_line(str(problem))[:200]}); name another one"
        ) from None


def _reproduce(cache: Path, root: Path, name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="ctxeval-ledger-") as folder, _output(Path(folder)) as output:
        (root / ".dvc" / "config.local").write_text(f"[cache]\n    dir = {cache}\n", encoding="utf-8")
        settings = {name: value for name, value in environment().items() if name not in _OTHER_CODE} | {
            "CTXEVAL_LEDGER": str(Path(folder) / "ledger.sqlite"),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "DVC_NO_ANALYTICS": "1",
        }
        command = [sys.executable, "-m", "dvc", "repro"]
        code = _finish(command, root, settings, output)
        output.seek(0)
        lines = output.read().decode("utf-8", "backslashreplace").strip().splitlines()
    if code:
        raise RevisionError(f"{name} cannot be rebuilt from its recorded answers: {_reason(lines)}")


def _reason(lines: list[str]) -> str:
    """Why a rebuild failed: the stage's own last error, else DVC's, else the last line."""
    for prefix in ("error: ", "ERROR: ", ""):
        if found := [line for line in lines if line.startswith(prefix)]:
            return one_line(found[-1].removeprefix(prefix))[:400]
    return "it said nothing"


@contextlib.contextmanager
def _output(folder: Path) -> Iterator[IO[bytes]]:
    with (folder / "output").open("w+b") as handle:
        yield handle


def _finish(command: list[str], root: Path, settings: dict[str, str], output: IO[bytes]) -> int:
    """Exit code of a command; Ctrl-C ends it with everything it started."""
    with subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
        command,
        cwd=root,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            return process.wait()
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
            return
