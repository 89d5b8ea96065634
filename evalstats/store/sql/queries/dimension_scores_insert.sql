-- Put the dimension scores in `incoming` in whose trials are not there yet (so: before the trials).
-- Looked up from the side of `incoming`, which is small, so that the memory it takes does not grow with the run.
INSERT INTO dimension_scores BY NAME
SELECT * FROM incoming
ANTI JOIN (
    SELECT trial_key
    FROM trials
    SEMI JOIN (SELECT DISTINCT trial_key FROM incoming) USING (trial_key)
    WHERE run_id = $run_id
) USING (trial_key)
