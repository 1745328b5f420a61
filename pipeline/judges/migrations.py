"""The ledger's schema as numbered migrations; a ledger's ``user_version`` says how many it has had.

A migration that was released is never edited: a change is a new one at the end.
"""

from __future__ import annotations

# Marks a SQLite file as an answer ledger ("ctxl"), so that no other program's database is taken for one.
APPLICATION_ID = 0x6374786C

_ANSWERS = """
CREATE TABLE requests (
    request_hash TEXT PRIMARY KEY,
    canonical    BLOB NOT NULL            -- zlib of the RFC 8785 bytes the hash was taken over
) STRICT;

CREATE TABLE intents (                    -- written before a request is sent
    intent       INTEGER PRIMARY KEY AUTOINCREMENT,
    request_hash TEXT NOT NULL REFERENCES requests,
    repeat       INTEGER NOT NULL CHECK (repeat >= 0),
    backend      TEXT NOT NULL,
    owner        TEXT NOT NULL,
    started_at   TEXT NOT NULL            -- UTC, ISO 8601
) STRICT;
CREATE INDEX intents_by_request ON intents (request_hash, repeat);

CREATE TABLE outcomes (                   -- what came of an intent; numbered as they came in
    outcome            INTEGER PRIMARY KEY AUTOINCREMENT,
    intent             INTEGER NOT NULL UNIQUE REFERENCES intents,
    ended_at           TEXT NOT NULL,
    kind               TEXT NOT NULL CHECK (kind IN ('answer', 'failed', 'uncertain')),
    problem            TEXT,              -- why it is no answer
    http_status        INTEGER,           -- NULL: no response came, and all below is NULL
    text               TEXT,
    finish_reason      TEXT,
    served_model       TEXT,
    system_fingerprint TEXT,
    response_id        TEXT,
    prompt_tokens      INTEGER,
    completion_tokens  INTEGER,
    reasoning_tokens   INTEGER,
    cost_nano_usd      INTEGER,
    raw                BLOB,              -- zlib of the response body
    digest             TEXT,              -- SHA-256 over http_status to raw: what is read must be what came
    CHECK ((kind = 'answer') = (problem IS NULL)),
    CHECK (kind <> 'answer' OR http_status IS NOT NULL),
    CHECK ((http_status IS NULL) = (raw IS NULL)),
    CHECK ((http_status IS NULL) = (digest IS NULL))
) STRICT;

CREATE TABLE selections (                 -- the answer that counts, once and for ever
    request_hash TEXT NOT NULL,
    repeat       INTEGER NOT NULL,
    outcome      INTEGER NOT NULL REFERENCES outcomes,
    selected_at  TEXT NOT NULL,
    PRIMARY KEY (request_hash, repeat)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (                     -- who is asking right now; the only rows that change or go
    request_hash TEXT NOT NULL,
    repeat       INTEGER NOT NULL,
    owner        TEXT NOT NULL,
    expires_at   REAL NOT NULL,           -- seconds since the epoch
    PRIMARY KEY (request_hash, repeat)
) STRICT, WITHOUT ROWID;
"""

_JOBS = """
CREATE TABLE jobs (                       -- batch jobs, written before they are sent
    job           INTEGER PRIMARY KEY AUTOINCREMENT,
    backend       TEXT NOT NULL,
    endpoint      TEXT NOT NULL,
    model         TEXT NOT NULL,
    request_count INTEGER NOT NULL CHECK (request_count > 0),
    upload_sha256 TEXT NOT NULL,          -- of the bytes that are sent
    owner         TEXT NOT NULL,
    started_at    TEXT NOT NULL
) STRICT;

CREATE TABLE job_lines (                  -- the intents of a job
    intent    INTEGER PRIMARY KEY REFERENCES intents,
    job       INTEGER NOT NULL REFERENCES jobs,
    custom_id TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX job_lines_by_job ON job_lines (job);

CREATE TABLE job_events (                 -- what happened to a job, in order
    event       INTEGER PRIMARY KEY AUTOINCREMENT,
    job         INTEGER NOT NULL REFERENCES jobs,
    at          TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('submitted', 'polled', 'lost', 'reconciled', 'closed')),
    provider_id TEXT,                     -- the service's name of the job, once it is known
    detail      TEXT,
    CHECK (kind <> 'submitted' OR provider_id IS NOT NULL)
) STRICT;
CREATE INDEX job_events_by_job ON job_events (job, kind);

CREATE TABLE imports (                    -- intents that were brought from another ledger
    intent INTEGER PRIMARY KEY REFERENCES intents,
    origin TEXT NOT NULL UNIQUE           -- owner and number of the intent where it was written first
) STRICT;

CREATE TABLE job_leases (                 -- who works on a job; rows change and go, as those of leases
    job        INTEGER PRIMARY KEY REFERENCES jobs,
    owner      TEXT NOT NULL,
    expires_at REAL NOT NULL
) STRICT;
"""


def _append_only(*tables: str) -> str:
    return "\n".join(
        f"CREATE TRIGGER {table}_keep_{event.lower()} BEFORE {event} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;"
        for table in tables
        for event in ("UPDATE", "DELETE")
    )


MIGRATIONS = (
    _ANSWERS + _append_only("requests", "intents", "outcomes", "selections"),
    _JOBS + _append_only("jobs", "job_lines", "job_events", "imports"),
)
