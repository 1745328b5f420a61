INSERT INTO judgments
SELECT
    ((item_index * (SELECT count(*) FROM languages) + language_index)
        * (SELECT count(*) FROM participants) + participant_index)::INTEGER AS cell_id,
    repeat, annotation_id
FROM staged_judgments
ORDER BY cell_id, repeat;
