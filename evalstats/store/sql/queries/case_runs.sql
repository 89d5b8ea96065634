-- How did each case fare in each run? One row per (run, case): the table of the statistics.
-- Sums are of decimals, so that they are exact and the same in whatever order threads add them up.
WITH counts AS (
    SELECT
        run_id, case_id, min(archetype) AS archetype,
        count(*) AS n_trials,
        count(*) FILTER (usable) AS n_usable,
        count(*) FILTER (usable AND passed) AS n_passed,
        coalesce(sum(score::DECIMAL(18, 12)), 0) AS score_sum,
        coalesce(sum((score * score)::DECIMAL(18, 12)), 0) AS score_sumsq,
        count(*) FILTER (outcome = 'infrastructure') AS n_infrastructure,
        count(*) FILTER (NOT usable) AS n_unusable
    FROM trials
    WHERE suite_id = $suite_id
        AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
        AND ($arm IS NULL OR arm::VARCHAR = $arm)
    GROUP BY run_id, case_id
)
SELECT
    suite_id, case_id, archetype, arm, run_id, group_id, created_at, seed,
    n_trials, n_usable, n_passed, score_sum::DOUBLE AS score_sum, score_sumsq::DOUBLE AS score_sumsq,
    n_infrastructure, n_unusable,
    suite_scoring, model, judge_model, judge_rubric_sha256, registry_version, cli_version, is_mock
FROM counts JOIN runs USING (run_id)
ORDER BY created_at, run_id, case_id
