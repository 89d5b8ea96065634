-- Which version of each case did each run try? One row per (run, case) whose run recorded it.
SELECT run_id, case_id, case_hash
FROM cases JOIN runs USING (run_id)
WHERE suite_id = $suite_id
ORDER BY run_id, case_id
