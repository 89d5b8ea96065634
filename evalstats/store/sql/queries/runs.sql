-- Which runs are there, of one suite or of all, and how much did each record? One row a run.
WITH counts AS (
    SELECT run_id, count(*) AS n_trials, count(*) FILTER (usable) AS n_usable, count(DISTINCT case_id) AS n_cases
    FROM trials
    WHERE $suite_id IS NULL OR suite_id = $suite_id
    GROUP BY run_id
)
SELECT
    run_id, group_id, suite_id, suite_path, tier, visibility, axis, arm, mode, seed, created_at,
    suite_sha256, suite_canonical, suite_scoring, suite_policy, registry_version, cli_version,
    model, judge_model, judge_rubric_sha256, runtime, is_mock, trials_per_case,
    coalesce(n_cases, 0) AS n_cases, coalesce(n_trials, 0) AS n_trials, coalesce(n_usable, 0) AS n_usable
FROM runs LEFT JOIN counts USING (run_id)
WHERE $suite_id IS NULL OR suite_id = $suite_id
ORDER BY created_at, run_id
