-- Penalties in tenths: of each valid annotation, then of each ok cell summed over its repeats,
-- then added up in the finest slices anyone asks for. Integers throughout.

CREATE OR REPLACE TEMP TABLE annotation_penalties AS
WITH weighted AS (
    SELECT
        annotation_id, tenths,
        row_number() OVER (PARTITION BY annotation_id ORDER BY tenths DESC, error_index) AS place
    FROM annotation_errors
    JOIN scheme_weights USING (severity, error_class)
)
SELECT annotation_id, least(sum(tenths), any_value(cap_tenths))::BIGINT AS tenths
FROM weighted CROSS JOIN scheme_limits
WHERE place <= max_errors
GROUP BY annotation_id;

CREATE OR REPLACE TEMP TABLE cell_penalties AS
SELECT
    cell_id, any_value(item_index) AS item_index, any_value(language_index) AS language_index,
    any_value(participant_index) AS participant_index,
    sum(coalesce(tenths, 0))::BIGINT AS tenths
FROM cells
JOIN judgments USING (cell_id)
LEFT JOIN annotation_penalties USING (annotation_id)
WHERE status = 'ok'
GROUP BY cell_id;

CREATE OR REPLACE TEMP TABLE common_cells AS
SELECT item_index, language_index
FROM cell_penalties
GROUP BY item_index, language_index
HAVING count(*) = (SELECT count(*) FROM participants);

CREATE OR REPLACE TEMP TABLE slice_sums AS
SELECT
    language_index, context_expectation, context_turn_count, speaker_mode, primary_phenomenon,
    participant_index,
    count(*) AS expected,
    count(*) FILTER (status = 'ok') AS samples,
    count(*) FILTER (status = 'judge_failed') AS failed_samples,
    coalesce(sum(tenths), 0)::BIGINT AS tenths,
    count(tenths) FILTER (common) AS common_samples,
    coalesce(sum(tenths) FILTER (common), 0)::BIGINT AS common_tenths
FROM cells
JOIN items USING (item_index)
LEFT JOIN (SELECT cell_id, tenths FROM cell_penalties) USING (cell_id)
LEFT JOIN (SELECT *, true AS common FROM common_cells) USING (item_index, language_index)
GROUP BY ALL;
