-- What a caller knows of a run before it is built. A cell it knows nothing of has no row.

CREATE TEMP TABLE staged_cells (
    item_id VARCHAR, language VARCHAR, participant_id VARCHAR,
    translation VARCHAR, translation_failure VARCHAR, request_hash VARCHAR
);
CREATE TEMP TABLE staged_answers (
    item_id VARCHAR, language VARCHAR, participant_id VARCHAR,
    repeat INTEGER, text VARCHAR, finish_reason VARCHAR
);
CREATE TEMP TABLE staged_attempts (
    request_hash VARCHAR, repeat INTEGER, attempt_index INTEGER, selected BOOLEAN, round_number INTEGER,
    backend VARCHAR, http_status INTEGER, finish_reason VARCHAR, served_model VARCHAR,
    prompt_tokens BIGINT, completion_tokens BIGINT, reasoning_tokens BIGINT, cost_nano_usd BIGINT
);
CREATE TEMP TABLE staged_translation_failures (
    failure_index INTEGER, item_id VARCHAR, language VARCHAR, participant_id VARCHAR, reason VARCHAR
);
-- Filled while building: which distinct annotation each answer is.
CREATE TEMP TABLE staged_judgments (
    item_index INTEGER, language_index INTEGER, participant_index INTEGER,
    repeat INTEGER, annotation_id INTEGER
);
