-- Put those labels of `incoming` in that are not there yet. All are of one run.
INSERT INTO labels BY NAME
SELECT * FROM incoming
ANTI JOIN (SELECT label_key FROM labels WHERE run_id = $run_id) USING (label_key)
