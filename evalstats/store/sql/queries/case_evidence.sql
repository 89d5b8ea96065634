-- What does a gate ask of each case of each run? One row per (run, case) of the usable trials.
-- The dimensions of a case are those its trials carry a score for.
WITH carried AS (
    SELECT trial_key, run_id, list(dimension ORDER BY dimension) AS dimensions
    FROM dimension_scores
    GROUP BY trial_key, run_id
)
SELECT
    t.run_id, t.case_id, min(t.archetype) AS archetype,
    count(*) AS n_usable,
    count(*) FILTER (t.passed) AS n_passed,
    sum(t.score::DECIMAL(18, 12))::DOUBLE AS score_sum,
    median(t.score) AS median_score,
    coalesce(max(c.dimensions), []) AS dimensions
FROM trials AS t LEFT JOIN carried AS c ON c.trial_key = t.trial_key AND c.run_id = t.run_id
WHERE t.suite_id = $suite_id AND t.usable
GROUP BY t.run_id, t.case_id
ORDER BY t.run_id, t.case_id
