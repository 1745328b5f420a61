"""What puts keys to a backend, by the backend's name; apart from ``registry``, which rendering needs, too."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.judges.base import Backend
from pipeline.judges.books import Asker
from pipeline.judges.events import Events
from pipeline.judges.ledger import Ledger
from pipeline.profiles import JudgeProfile

Reconcile = Callable[[Ledger, JudgeProfile, Backend, Events], list[str]]
"""Finds out what became of jobs whose submission got no reply; returns a line for people for each."""


def asker_class(name: str) -> type[Asker]:
    """What puts keys to the backend of that name: by jobs, or one call a request."""
    if name == "openrouter-batch":
        from pipeline.judges.batch import BatchAsker

        return BatchAsker
    from pipeline.judges.asking import LiveAsker

    return LiveAsker


def reconciler(name: str) -> Reconcile | None:
    """How jobs of the backend of that name are reconciled; None if it has no jobs."""
    if name == "openrouter-batch":
        from pipeline.judges.batch_reconcile import reconcile

        return reconcile
    return None
