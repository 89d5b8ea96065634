-- Forget the dimension scores of these trials, all of one run.
DELETE FROM dimension_scores WHERE run_id = $run_id AND list_contains($trial_keys, trial_key)
