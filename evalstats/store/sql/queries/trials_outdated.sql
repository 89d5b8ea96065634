-- Of which trials in `incoming` is an earlier attempt stored? All are of one run.
SELECT trial_key
FROM trials
JOIN incoming USING (trial_key)
WHERE trials.run_id = $run_id AND incoming.attempt > trials.attempt
