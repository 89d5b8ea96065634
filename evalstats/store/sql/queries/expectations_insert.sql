-- Put the expectations in `incoming` in whose trials are not there yet (so: before the trials).
INSERT INTO expectations BY NAME
SELECT * FROM incoming
ANTI JOIN (SELECT trial_key FROM trials WHERE run_id = $run_id) USING (trial_key)
