-- The judgements to export. Words leave as text: Parquet has no enumerations.
SELECT * REPLACE (arm::VARCHAR AS arm)
FROM judgements
SEMI JOIN (SELECT run_id FROM runs WHERE $suite_id IS NULL OR suite_id = $suite_id) USING (run_id)
WHERE ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
