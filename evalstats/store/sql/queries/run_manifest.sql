-- What is stored as the manifest of this run?
SELECT manifest::VARCHAR FROM runs WHERE run_id = $run_id
