-- What does a gate ask of each run beside its scores? One row a run; the cost is known if that of each trial is.
SELECT
    r.run_id, any_value(r.manifest->>'$.git.candidate_ref') AS git_ref,
    CASE WHEN count(t.cost) = count(*) THEN sum(t.cost::DECIMAL(18, 9))::DOUBLE END AS cost,
    median(t.duration_s) AS median_duration_s
FROM runs AS r JOIN trials AS t ON t.run_id = r.run_id
WHERE r.suite_id = $suite_id
GROUP BY r.run_id
ORDER BY r.run_id
