-- The trials to export. Words leave as text: Parquet has no enumerations.
SELECT * REPLACE (
    arm::VARCHAR AS arm, status::VARCHAR AS status, outcome::VARCHAR AS outcome, isolation::VARCHAR AS isolation
)
FROM trials
WHERE ($suite_id IS NULL OR suite_id = $suite_id)
    AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
