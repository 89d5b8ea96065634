-- What did each judge say of each expectation under each wording of its question? The last attempt counts.
SELECT
    j.run_id, j.case_id, j.arm, j.trial_index, j.expectation,
    j.judge || '@' || j.judge_sha256[1:8] AS judge, j.wording, j.repeat, j.passed::INTEGER::DOUBLE AS score
FROM judgements AS j JOIN runs USING (run_id)
WHERE suite_id = $suite_id
    AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
QUALIFY row_number() OVER (
    PARTITION BY trial_key, run_id, expectation, judge_sha256, wording, repeat ORDER BY attempt DESC, judgement_key
) = 1
ORDER BY run_id, case_id, trial_index, expectation, judge, wording, repeat
