"""The run of the working tree, of a folder, of a git revision or of a DVC experiment."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import RevisionError, one_line
from pipeline.layout import MANIFEST
from pipeline.lineage.git import git, git_or_none
from pipeline.lineage.places import RunPlace, place_of
from pipeline.lineage.rebuilding import bring_outputs

# refs/exps/<baseline, in two parts>/<name>; DVC's own bookkeeping below refs/exps looks otherwise.
_EXPERIMENT = re.compile(r"refs/exps/[0-9a-f]{2}/[0-9a-f]{38}/(?P<name>.+)")
_ENTRY = "pipeline/__main__.py"


@contextmanager
def run_at(
    project: Path, *, revision: str | None = None, directory: Path | None = None
) -> Iterator[RunPlace]:
    """The run to look at: ``directory``, ``revision`` of the project, or else its working tree.

    A revision is checked out into a temporary, detached git worktree outside of the project. Outputs come
    from the project's DVC cache by the hashes of the revision's own ``dvc.lock``; if one is not there, the
    revision's own code rebuilds them from its recorded answers, offline and without the ledger. What git
    tracks stands as it was committed, reports and manifest included, whatever the rebuild made of it. The
    worktree is removed at the end, also after an error or Ctrl-C; index, branch and files of the project
    are not touched.

    Raises:
        RevisionError: not a git repository, no such revision or experiment, no pipeline in it, it cannot
            be rebuilt, or both a revision and a folder were named.
        ManifestError: there is no sealed run in the folder.
    """
    if revision is not None and directory is not None:
        raise RevisionError("a revision and a folder were named; give one of them")
    if revision is None:
        yield place_of(project if directory is None else directory)
        return
    commit = resolve(project, revision)
    name = f"{one_line(revision)} ({commit[:12]})"
    prefix = git(project, "rev-parse", "--show-prefix")
    if git_or_none(project, "cat-file", "-e", f"{commit}:{prefix}{_ENTRY}") is None:
        raise RevisionError(f"{name} holds no {_ENTRY}; name a revision that holds the pipeline")
    folder = Path(tempfile.mkdtemp(prefix="ctxeval-revision-"))
    try:
        tree = folder / "tree"
        git(project, "worktree", "add", "--quiet", "--detach", "--force", str(tree), commit)
        root = tree / prefix
        bring_outputs(project, root, name)
        git(tree, "checkout", "--quiet", "--force", "HEAD", "--", ".")
        if not (root / MANIFEST).is_file():
            raise RevisionError(f"{name} holds no {MANIFEST.as_posix()}; name a revision that was sealed")
        yield RunPlace(root, name, published=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        git_or_none(project, "worktree", "prune")


@contextmanager
def named_run(project: Path, name: str) -> Iterator[RunPlace]:
    """The run of a folder if there is one of that name, else of a revision or experiment of the project.

    Raises:
        RevisionError, ManifestError: see ``run_at``.
    """
    folder = Path(name)
    with run_at(project, directory=folder) if folder.exists() else run_at(project, revision=name) as place:
        yield place


def resolve(project: Path, revision: str) -> str:
    """The commit of a git revision or, if git knows none of that name, of a DVC experiment.

    Raises:
        RevisionError: neither, or two experiments have the name.
    """
    if git_or_none(project, "rev-parse", "--git-dir") is None:
        raise RevisionError.at(project, "not a git repository; revisions need a clone of the project")
    found = git_or_none(
        project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if found is not None:
        return found
    commits = {commit for name, commit in experiments(project) if name == revision}
    if len(commits) > 1:
        shown = ", ".join(sorted(commit[:12] for commit in commits))
        raise RevisionError(f"{len(commits)} experiments are named {revision!r}; give one commit of: {shown}")
    if not commits:
        raise RevisionError(
            f"{revision!r} is no git revision and no DVC experiment of this clone; "
            "`git log` and `dvc exp show` list them, and `git fetch` may bring it"
        )
    return commits.pop()


def experiments(project: Path) -> list[tuple[str, str]]:
    """Name and commit of every DVC experiment of the clone.

    Raises:
        RevisionError: not a git repository.
    """
    lines = git(project, "for-each-ref", "--format=%(objectname) %(refname)", "refs/exps").splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return [(match["name"], commit) for commit, ref in pairs if (match := _EXPERIMENT.fullmatch(ref))]
