-- Put those judgements of `incoming` in that are not there yet. All are of one run.
INSERT INTO judgements BY NAME
SELECT * FROM incoming
ANTI JOIN (SELECT judgement_key FROM judgements WHERE run_id = $run_id) USING (judgement_key)
