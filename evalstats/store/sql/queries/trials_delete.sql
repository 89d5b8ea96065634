-- Forget these trials, all of one run.
DELETE FROM trials WHERE run_id = $run_id AND list_contains($trial_keys, trial_key)
