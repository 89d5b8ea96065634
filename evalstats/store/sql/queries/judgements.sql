-- What did each judge say of each expectation of each trial, each time it was asked? The last attempt counts.
-- `of_headline` is the share of a headline over cases that hangs on the verdict: of its expectations, trials and cases.
WITH last AS (
    SELECT judgements.*
    FROM judgements JOIN runs USING (run_id)
    WHERE suite_id = $suite_id AND wording = 'original'
        AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
    QUALIFY row_number() OVER (
        PARTITION BY trial_key, run_id, expectation, judge_sha256, repeat ORDER BY attempt DESC, judgement_key
    ) = 1
), required AS (
    SELECT trial_key, run_id, count(*) FILTER (required) AS n_required
    FROM expectations
    GROUP BY trial_key, run_id
), tried AS (
    SELECT run_id, case_id, count(*) AS n_trials, count(*) OVER (PARTITION BY run_id) AS n_cases
    FROM trials
    WHERE suite_id = $suite_id
    GROUP BY run_id, case_id
)
SELECT
    j.run_id, j.case_id, t.archetype, j.arm, j.trial_index, j.expectation,
    j.judge || '@' || j.judge_sha256[1:8] AS judge, j.repeat,
    j.passed::INTEGER::DOUBLE AS score, j.mark, j.error_class,
    CASE WHEN e.required THEN 1.0 / (r.n_required * c.n_trials * c.n_cases) ELSE 0 END AS of_headline,
    j.judge AS judge_model, j.judge_sha256, j.rubric_sha256, j.family, j.model, j.version, j.started_at,
    j.cost, j.graded_sha256
FROM last AS j
JOIN trials AS t ON t.trial_key = j.trial_key AND t.run_id = j.run_id
JOIN tried AS c ON c.run_id = j.run_id AND c.case_id = j.case_id
LEFT JOIN expectations AS e ON e.trial_key = j.trial_key AND e.run_id = j.run_id AND e.idx = j.expectation
LEFT JOIN required AS r ON r.trial_key = j.trial_key AND r.run_id = j.run_id
ORDER BY j.run_id, j.case_id, j.trial_index, j.expectation, judge, j.repeat
