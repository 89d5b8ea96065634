-- Which runs are known, of one suite or of all?
SELECT run_id FROM runs WHERE $suite_id IS NULL OR suite_id = $suite_id ORDER BY run_id
