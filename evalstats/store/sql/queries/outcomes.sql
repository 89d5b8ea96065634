-- How did the trials of a suite end, and which carry no score? One row per (run, outcome).
SELECT run_id, arm, outcome, usable, count(*) AS n_trials
FROM trials
WHERE suite_id = $suite_id
    AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
GROUP BY run_id, arm, outcome, usable
ORDER BY run_id, arm::VARCHAR, outcome::VARCHAR
