INSERT INTO attempts BY NAME
SELECT * FROM staged_attempts
ORDER BY request_hash, repeat, attempt_index;

INSERT INTO translation_failures
SELECT failure_index, item_index, language_index, participant_index, reason
FROM staged_translation_failures
JOIN items USING (item_id)
JOIN languages USING (language)
JOIN participants USING (participant_id)
ORDER BY failure_index;
