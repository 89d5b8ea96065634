-- Forget the expectations of these trials, all of one run.
DELETE FROM expectations WHERE run_id = $run_id AND list_contains($trial_keys, trial_key)
