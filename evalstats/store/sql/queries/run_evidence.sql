-- What does a gate ask of each run beside its scores? One row a run; the cost is known if that of each trial is.
-- The manifest of a run names each of its cases: it is read once a run, not once a trial.
WITH spent AS (
    SELECT
        run_id, median(duration_s) AS median_duration_s,
        CASE WHEN count(cost) = count(*) THEN sum(cost::DECIMAL(18, 9))::DOUBLE END AS cost
    FROM trials
    WHERE run_id IN (SELECT run_id FROM runs WHERE suite_id = $suite_id)
    GROUP BY run_id
)
SELECT run_id, manifest->>'$.git.candidate_ref' AS git_ref, cost, median_duration_s
FROM runs JOIN spent USING (run_id)
ORDER BY run_id
