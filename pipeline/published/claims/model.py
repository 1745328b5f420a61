"""``experiments/<id>/claims.json``: the figures that were published, each with where it was printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.errors import ConfigError
from pipeline.jsonl import read_json
from pipeline.published.claims.expressions import (
    SLICE_FIELDS,
    Combination,
    Expression,
    Leaf,
    PairedCount,
    Slice,
    leaves,
)
from pipeline.published.claims.printed import Rounding, parse_bound, parse_printed, parse_range
from pipeline.validation import StrictModel, validate

CLAIMS = "claims.json"

Kind = Literal["value", "count", "difference", "ratio", "change", "average", "range", "bound",
               "ordering", "every", "largest", "smallest"]  # fmt: skip
Over = Literal["participant", "language", "expectation", "turns", "speaker_mode", "phenomenon"]

# Which functions a kind may be computed by at its top; the other kinds take any.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "count": ("cell_count", "distinct_count", "common_cell_count", "label_count", "error_count",
              "paired_count", "sum", "reported", "unreported"),
    "difference": ("difference",),
    "ratio": ("ratio",),
    "change": ("change", "reduction"),
    "average": ("average",),
}  # fmt: skip
_OVER = ("ordering", "every", "largest", "smallest", "range", "bound")


class Document(StrictModel):
    """A document that printed figures: a path in a repository at a commit, or a file of the run."""

    path: str
    repository: str | None = None
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$")] | None = None


class PrintedIn(StrictModel):
    """Where a figure stands: a key of ``documents`` and a place in it."""

    document: str
    place: str


class Claim(StrictModel):
    """One published figure.

    ``printed`` is its text: a number (``1.577``), a range, a bound, names joined with `` < `` for an
    ordering, a name for ``largest`` and ``smallest``, the word ``every``. ``compute`` is one function,
    and for ``every`` a chain of them that rises from each to the next. ``over`` is the field that runs
    through ``among`` (by default all participants, languages, ...) in kinds that compare.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._\-]+$")]
    kind: Kind
    printed: str
    compute: Expression | Annotated[list[Expression], Field(min_length=2)]
    over: Over | None = None
    among: Annotated[list[str | int], Field(min_length=1)] | None = None
    printed_in: Annotated[list[PrintedIn], Field(min_length=1)]
    note: str | None = None

    @property
    def chain(self) -> list[Leaf | Combination]:
        """The expressions to compute, one but for ``every``."""
        return list(self.compute) if isinstance(self.compute, list) else [self.compute]

    def names(self) -> list[str]:
        """The names of an ordering as printed, first to last."""
        return [name.strip() for name in self.printed.split(" < ")]

    @model_validator(mode="after")
    def _consistent(self) -> Claim:
        if (self.kind == "every") != isinstance(self.compute, list):
            raise ValueError("'every' is computed by a list of functions, all other kinds by one")
        allowed = _FUNCTIONS.get(self.kind)
        function = self.chain[0].function
        if allowed and function not in allowed:
            raise ValueError(f"a {self.kind} is computed by {', '.join(allowed)}, not by {function}")
        if self.kind in _OVER and self.over is None and self.kind != "bound":
            raise ValueError(f"needs 'over': what runs, one of {', '.join(SLICE_FIELDS)}")
        if self.kind not in _OVER and self.over is not None:
            raise ValueError(f"'over' has no meaning for a {self.kind}; remove it")
        if self.over is None and self.among is not None:
            raise ValueError("'among' needs 'over'")
        if self.over and not any(_is_open(leaf, self.over) for part in self.chain for leaf in leaves(part)):
            raise ValueError(f"nothing runs: leave {self.over!r} out of a function")
        _check_printed(self)
        return self


def _is_open(leaf: Leaf, field: str) -> bool:
    return isinstance(leaf, Slice) and getattr(leaf, field) is None


def _check_printed(claim: Claim) -> None:
    if claim.kind == "every":
        if claim.printed != "every":
            raise ValueError("'printed' of the kind 'every' is the word every")
    elif claim.kind == "ordering":
        names = claim.names()
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError("an ordering is printed as distinct names joined with ' < '")
        if claim.among is not None:
            raise ValueError("an ordering runs through its printed names; remove 'among'")
    elif claim.kind == "range":
        parse_range(claim.printed)
    elif claim.kind == "bound":
        parse_bound(claim.printed)
    elif claim.kind not in ("largest", "smallest"):
        number = parse_printed(claim.printed)
        if claim.kind == "count" and (number.places or number.percent):
            raise ValueError("a count is printed as a whole number")


class Claims(StrictModel):
    """A claims file. ``rounding`` says which way a value halfway between two printed ones went."""

    experiment: str
    rounding: Rounding
    documents: dict[str, Document]
    claims: list[Claim]

    @model_validator(mode="after")
    def _resolved(self) -> Claims:
        seen: set[str] = set()
        for claim in self.claims:
            if claim.id in seen:
                raise ValueError(f"the claim {claim.id!r} stands twice; ids are unique")
            seen.add(claim.id)
            for place in claim.printed_in:
                if place.document not in self.documents:
                    raise ValueError(
                        f"{claim.id!r} names the document {place.document!r}, which is not listed"
                    )
        return self


def read_claims(path: Path, experiment: str, participants: list[str], languages: list[str]) -> Claims:
    """Read the claims file of an experiment with these participants and languages.

    Raises:
        ConfigError: missing, broken, of another experiment, or a claim names what this one does not have.
    """
    claims = validate(Claims, read_json(path, ConfigError), path, ConfigError)
    if claims.experiment != experiment:
        raise ConfigError.at(path, f"is of {claims.experiment!r}, not of {experiment!r}", field="experiment")
    for claim in claims.claims:
        for kind, name in _names(claim):
            known = participants if kind == "participant" else languages
            if name not in known:
                raise ConfigError.at(
                    path, f"names the {kind} {name!r}, which the experiment does not list", field=claim.id
                )
    return claims


def _names(claim: Claim) -> list[tuple[str, str]]:
    """(participant or language, name) of everything a claim names."""
    found: list[tuple[str, str]] = []
    for expression in claim.chain:
        for leaf in leaves(expression):
            if isinstance(leaf, Slice):
                found += [("participant", leaf.participant)] if leaf.participant else []
                found += [("language", leaf.language)] if leaf.language else []
            if isinstance(leaf, PairedCount):
                found += [("participant", leaf.a), ("participant", leaf.b)]
    if claim.over in ("participant", "language"):
        names = [str(name) for name in claim.among or ()]
        names += claim.names() if claim.kind == "ordering" else []
        names += [claim.printed] if claim.kind in ("largest", "smallest") else []
        found += [(claim.over, name) for name in names]
    return found
