-- The tables of one run. Filled in this order, each by one INSERT ... ORDER BY.

CREATE TABLE run (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    run_id VARCHAR NOT NULL,
    run_name VARCHAR NOT NULL,
    dataset_fingerprint VARCHAR NOT NULL,
    dataset_sha256 VARCHAR NOT NULL,
    prompt_set_id VARCHAR NOT NULL,
    prompt_set_sha256 VARCHAR,            -- null: the run did not record it
    judge_profile VARCHAR,                -- null: imported runs have none
    judge_description VARCHAR NOT NULL,   -- what the profile says of the judge; '' if nothing
    judge_backend VARCHAR NOT NULL,
    judge_model VARCHAR NOT NULL,
    reasoning_effort VARCHAR NOT NULL,    -- 'default', an effort, or 'unrecorded'
    repeats INTEGER NOT NULL CHECK (repeats >= 1),
    parser_mode VARCHAR NOT NULL CHECK (parser_mode IN ('strict', 'lenient')),
    annotation_form VARCHAR NOT NULL CHECK (annotation_form IN ('text', 'json'))
);

CREATE TABLE languages (
    language_index INTEGER PRIMARY KEY,
    language VARCHAR NOT NULL UNIQUE
);

CREATE TABLE participants (
    participant_index INTEGER PRIMARY KEY,
    participant_id VARCHAR NOT NULL UNIQUE,
    display_name VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL
);

CREATE TABLE items (
    item_index INTEGER PRIMARY KEY,
    item_id VARCHAR NOT NULL UNIQUE,
    context_turn_count INTEGER NOT NULL CHECK (context_turn_count BETWEEN 1 AND 3),
    speaker_mode VARCHAR NOT NULL CHECK (speaker_mode IN ('single', 'dyadic')),
    context_expectation VARCHAR NOT NULL CHECK (context_expectation IN ('use', 'ignore')),
    primary_phenomenon VARCHAR NOT NULL,
    secondary_phenomena VARCHAR[] NOT NULL,
    source_text VARCHAR NOT NULL
);

-- turn_index counts from 0; the current utterance is items.source_text, not a turn.
CREATE TABLE turns (
    item_index INTEGER NOT NULL REFERENCES items (item_index),
    turn_index INTEGER NOT NULL,
    speaker_role VARCHAR NOT NULL CHECK (speaker_role IN ('self', 'other')),
    relative_time_label VARCHAR,
    source_text VARCHAR NOT NULL,
    PRIMARY KEY (item_index, turn_index)
);

-- One row per distinct (text, finish_reason): an answer read as MQM, whoever it was about.
CREATE TABLE annotations (
    annotation_id INTEGER PRIMARY KEY,
    text VARCHAR NOT NULL,
    finish_reason VARCHAR,
    status VARCHAR NOT NULL CHECK (status IN (
        'ok', 'empty', 'refusal', 'truncated', 'filtered', 'malformed', 'unknown_class',
        'missing_section', 'missing_context_behavior')),
    reason VARCHAR,                       -- null exactly where status is 'ok'
    context_behavior VARCHAR CHECK (context_behavior IN (
        'used_correctly', 'missed_required_context', 'ignored_irrelevant_context',
        'misused_context', 'unclear')),
    repairs VARCHAR[] NOT NULL,
    contradictory_section BOOLEAN NOT NULL,
    CHECK ((status = 'ok') = (reason IS NULL)),
    CHECK (status = 'ok' OR context_behavior IS NULL)
);

CREATE TABLE annotation_errors (
    annotation_id INTEGER NOT NULL REFERENCES annotations (annotation_id),
    error_index INTEGER NOT NULL CHECK (error_index >= 0),
    severity VARCHAR NOT NULL CHECK (severity IN ('critical', 'major', 'minor')),
    error_class VARCHAR NOT NULL CHECK (error_class IN (
        'accuracy/addition', 'accuracy/mistranslation', 'accuracy/omission',
        'accuracy/untranslated text', 'fluency/character encoding', 'fluency/grammar',
        'fluency/inconsistency', 'fluency/punctuation', 'fluency/register', 'fluency/spelling',
        'style/awkward', 'terminology/inappropriate for context', 'terminology/inconsistent use',
        'non-translation', 'other')),
    span VARCHAR,
    source_span VARCHAR,
    explanation VARCHAR,
    PRIMARY KEY (annotation_id, error_index)
);

-- Every expected cell: items x languages x participants, whatever became of it.
CREATE TABLE cells (
    cell_id INTEGER PRIMARY KEY,
    item_index INTEGER NOT NULL REFERENCES items (item_index),
    language_index INTEGER NOT NULL REFERENCES languages (language_index),
    participant_index INTEGER NOT NULL REFERENCES participants (participant_index),
    status VARCHAR NOT NULL CHECK (status IN (
        'ok', 'judge_failed', 'translation_failed', 'translation_missing')),
    judge_failure VARCHAR CHECK (judge_failure IN (
        'empty', 'refusal', 'truncated', 'filtered', 'malformed', 'unknown_class',
        'missing_section', 'missing_context_behavior', 'unrecorded')),
    translation VARCHAR,                  -- null: none was made, or an imported run kept none
    translation_failure VARCHAR,          -- null unless status is 'translation_failed'
    request_hash VARCHAR,                 -- null: not judged, or an imported run recorded none
    CHECK ((status = 'judge_failed') = (judge_failure IS NOT NULL)),
    CHECK ((status = 'translation_failed') = (translation_failure IS NOT NULL)),
    CHECK (status IN ('ok', 'judge_failed') OR translation IS NULL),
    UNIQUE (item_index, language_index, participant_index)
);

CREATE TABLE judgments (
    cell_id INTEGER NOT NULL REFERENCES cells (cell_id),
    repeat INTEGER NOT NULL CHECK (repeat >= 0),
    annotation_id INTEGER NOT NULL REFERENCES annotations (annotation_id),
    PRIMARY KEY (cell_id, repeat)
);

-- Where each error's span stands. starts and ends are code points, half-open; in the source for
-- 'in_source', in the translation otherwise; several for 'ambiguous', none for the last two.
CREATE TABLE spans (
    cell_id INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    error_index INTEGER NOT NULL,
    location VARCHAR NOT NULL CHECK (location IN (
        'exact', 'ambiguous', 'normalised', 'in_source', 'missing', 'not_locatable')),
    starts INTEGER[] NOT NULL,
    ends INTEGER[] NOT NULL,
    CHECK (len(starts) = len(ends)),
    PRIMARY KEY (cell_id, repeat, error_index),
    FOREIGN KEY (cell_id, repeat) REFERENCES judgments (cell_id, repeat)
);

-- Every attempt of every answer used, with what it cost. Own runs only.
CREATE TABLE attempts (
    request_hash VARCHAR NOT NULL,
    repeat INTEGER NOT NULL,
    attempt_index INTEGER NOT NULL,
    selected BOOLEAN NOT NULL,
    round_number INTEGER CHECK (round_number >= 1),  -- the judge's how-manieth answer; null: it gave none
    backend VARCHAR NOT NULL,
    http_status INTEGER,
    finish_reason VARCHAR,
    served_model VARCHAR,
    prompt_tokens BIGINT,
    completion_tokens BIGINT,
    reasoning_tokens BIGINT,
    cost_nano_usd BIGINT,                 -- null: the service named no cost
    PRIMARY KEY (request_hash, repeat, attempt_index)
);

-- Every recorded failure to translate, in file order; a cell may have several.
CREATE TABLE translation_failures (
    failure_index INTEGER PRIMARY KEY,
    item_index INTEGER NOT NULL REFERENCES items (item_index),
    language_index INTEGER NOT NULL REFERENCES languages (language_index),
    participant_index INTEGER NOT NULL REFERENCES participants (participant_index),
    reason VARCHAR NOT NULL
);
