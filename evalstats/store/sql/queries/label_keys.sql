-- Which labels of this run are stored?
SELECT label_key FROM labels WHERE run_id = $run_id
