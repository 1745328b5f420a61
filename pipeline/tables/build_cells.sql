-- Every expected cell with its status. A failure is never a zero and never left out.
INSERT INTO cells
WITH judged AS (
    SELECT
        item_index, language_index, participant_index,
        arg_min(status, repeat) FILTER (status <> 'ok') AS first_failure,
        count(*) FILTER (status = 'ok') AS valid
    FROM staged_judgments
    JOIN annotations USING (annotation_id)
    GROUP BY item_index, language_index, participant_index
),
known AS (
    SELECT
        item_index, language_index, participant_index,
        translation, translation_failure, request_hash
    FROM staged_cells
    JOIN items USING (item_id)
    JOIN languages USING (language)
    JOIN participants USING (participant_id)
),
expected AS (
    SELECT
        ((item_index * (SELECT count(*) FROM languages) + language_index)
            * (SELECT count(*) FROM participants) + participant_index)::INTEGER AS cell_id,
        item_index, language_index, participant_index
    FROM items CROSS JOIN languages CROSS JOIN participants
)
SELECT
    cell_id, item_index, language_index, participant_index,
    CASE
        WHEN valid = $repeats THEN 'ok'
        WHEN valid IS NOT NULL THEN 'judge_failed'
        WHEN translation IS NULL AND translation_failure IS NOT NULL THEN 'translation_failed'
        WHEN translation IS NULL AND $translations_known THEN 'translation_missing'
        ELSE 'judge_failed'
    END AS status,
    CASE
        WHEN valid < $repeats THEN first_failure
        WHEN valid IS NULL AND (
            translation IS NOT NULL OR (translation_failure IS NULL AND NOT $translations_known)
        ) THEN 'unrecorded'
    END AS judge_failure,
    translation,
    -- A failure that a later translation or answer overtook is history, not the cell's state.
    CASE WHEN valid IS NULL AND translation IS NULL THEN translation_failure END AS translation_failure,
    request_hash
FROM expected
LEFT JOIN judged USING (item_index, language_index, participant_index)
LEFT JOIN known USING (item_index, language_index, participant_index)
ORDER BY cell_id;
