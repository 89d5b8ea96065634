-- The runs to export; manifests stay at home, since they describe the machine. Words leave as text: Parquet has no enumerations.
SELECT * EXCLUDE (manifest) REPLACE (
    tier::VARCHAR AS tier, visibility::VARCHAR AS visibility, axis::VARCHAR AS axis, arm::VARCHAR AS arm
)
FROM runs
WHERE ($suite_id IS NULL OR suite_id = $suite_id)
    AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
