-- What did people say of each expectation of each trial? Of one person, the last label counts; a tie is no label.
WITH last AS (
    SELECT labels.*
    FROM labels JOIN runs USING (run_id)
    WHERE suite_id = $suite_id
        AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
    QUALIFY row_number() OVER (
        PARTITION BY trial_key, run_id, expectation, labeller ORDER BY labelled_at DESC, label_key
    ) = 1
)
SELECT
    run_id, case_id, arm, trial_index, expectation,
    CASE
        WHEN 2 * count(*) FILTER (passed) > count(*) THEN 1.0
        WHEN 2 * count(*) FILTER (passed) < count(*) THEN 0.0
    END AS label,
    count(*) AS n_labels, count(*) FILTER (passed) AS n_yes
FROM last
GROUP BY run_id, case_id, arm, trial_index, expectation
ORDER BY run_id, case_id, trial_index, expectation
