-- Which judgements of this run are stored?
SELECT judgement_key FROM judgements WHERE run_id = $run_id
