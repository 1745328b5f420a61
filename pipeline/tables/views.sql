-- Views for reading the tables. Created after loading, never exported.

-- One row per expected cell, in words instead of index numbers.
CREATE VIEW cell_list AS
SELECT
    cell_id, item_id, language, participant_id, display_name, status, judge_failure,
    context_turn_count, speaker_mode, context_expectation, primary_phenomenon,
    source_text, translation, translation_failure, request_hash
FROM cells
JOIN items USING (item_index)
JOIN languages USING (language_index)
JOIN participants USING (participant_index);

-- One row per (cell, repeat) that was judged, with the answer as it was read.
CREATE VIEW judgment_list AS
SELECT
    cell_id, repeat, item_id, language, participant_id, context_expectation, primary_phenomenon,
    annotations.status, reason,
    context_behavior, repairs, contradictory_section, text AS answer, finish_reason,
    source_text, translation, request_hash
FROM judgments
JOIN cell_list USING (cell_id)
JOIN annotations USING (annotation_id);

-- One row per error of a validly read answer, with where its span stands.
CREATE VIEW error_list AS
SELECT
    cell_id, repeat, error_index, item_id, language, participant_id, severity, error_class,
    span, source_span, explanation, location, starts, ends
FROM judgments
JOIN cell_list USING (cell_id)
JOIN annotation_errors USING (annotation_id)
LEFT JOIN spans USING (cell_id, repeat, error_index);
