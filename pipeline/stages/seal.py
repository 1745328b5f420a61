"""Stage ``seal``: the manifest over every input and every output."""

from __future__ import annotations

from pathlib import Path

from pipeline.canonical import sha256_file, write_json
from pipeline.config import read_params
from pipeline.layout import MANIFEST, PARAMS, REQUIREMENTS, TABLES
from pipeline.lineage.manifest import file_entries, manifest_document
from pipeline.lineage.run_signature import counts_of, signature_of
from pipeline.lineage.sealed import OUTPUTS, inputs
from pipeline.profiles import read_profile
from pipeline.scoring.schemes import scheme_named
from pipeline.scoring.scores import score_run
from pipeline.tables.database import connect, load_tables


def run(root: Path) -> str:
    """Write ``reports/manifest.json`` below ``root``; returns the line to print.

    Raises:
        ManifestError: a file that belongs into the manifest is missing.
    """
    params = read_params(root / PARAMS)
    profile = read_profile(root, params.judge.profile)
    with connect() as connection:
        load_tables(connection, root / TABLES, views=False)
        scores = score_run(connection, scheme_named(params.scoring.scheme))
    signature = signature_of(scores)
    document = manifest_document(
        signature=signature,
        run_name=params.run_name,
        inputs=file_entries(root, inputs()),
        outputs=file_entries(root, OUTPUTS),
        parameters=params.model_dump(mode="json"),
        profile=profile.model_dump(mode="json"),
        requirements_lock_sha256=sha256_file(root / REQUIREMENTS),
        counts=counts_of(scores),
    )
    write_json(root / MANIFEST, document)
    listed = f"{len(document['inputs'])} inputs, {len(document['outputs'])} outputs"
    return f"seal: {listed} -> {MANIFEST}\n{signature.short()}\n{signature.long()}"
