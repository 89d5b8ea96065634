-- Which trials of this run are stored?
SELECT trial_key FROM trials WHERE run_id = $run_id
