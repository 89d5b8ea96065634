-- What exactly happened to one case in one run? One row per (trial, expectation); a trial without any has one row.
SELECT
    t.trial_key, t.run_id, t.case_id, t.arm, t.trial_index, t.status, t.outcome, t.reason, t.score,
    t.error_class, t.stdout_sha256, t.stderr_sha256, t.transcript_sha256,
    e.idx, e.type, e.required, e.passed, e.detail
FROM trials AS t
LEFT JOIN expectations AS e ON e.trial_key = t.trial_key AND e.run_id = t.run_id
WHERE t.run_id = $run_id AND t.case_id = $case_id
ORDER BY t.trial_index, e.idx
