-- Answers placed in the design, and their distinct texts numbered by the first cell that has them.
CREATE TEMP TABLE placed_answers AS
SELECT item_index, language_index, participant_index, repeat, text, finish_reason
FROM staged_answers
JOIN items USING (item_id)
JOIN languages USING (language)
JOIN participants USING (participant_id);

CREATE TEMP TABLE distinct_answers AS
SELECT
    (row_number() OVER (ORDER BY first_place) - 1)::INTEGER AS annotation_id, text, finish_reason
FROM (
    SELECT
        text, finish_reason,
        min(((item_index::HUGEINT * (SELECT count(*) FROM languages) + language_index)
             * (SELECT count(*) FROM participants) + participant_index) * 1000 + repeat) AS first_place
    FROM placed_answers
    GROUP BY text, finish_reason
);

INSERT INTO staged_judgments
SELECT item_index, language_index, participant_index, repeat, annotation_id
FROM placed_answers AS placed
JOIN distinct_answers AS answers
    ON placed.text = answers.text AND placed.finish_reason IS NOT DISTINCT FROM answers.finish_reason;

DROP TABLE placed_answers;
