-- Put those trials of `incoming` in that are not there yet. All are of one run.
INSERT INTO trials BY NAME
SELECT * FROM incoming
ANTI JOIN (SELECT trial_key FROM trials WHERE run_id = $run_id) USING (trial_key)
