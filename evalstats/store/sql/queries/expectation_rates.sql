-- How often did each expectation hold in each arm? One row per (case, expectation, arm).
-- Trials count when they are usable, or unscored because just this expectation was undecided.
SELECT
    e.case_id, min(t.archetype) AS archetype, e.idx, e.type, e.required, t.arm,
    count(*) AS n,
    count(*) FILTER (e.passed) AS passed,
    count(*) FILTER (e.passed IS NULL) AS undecided
FROM expectations AS e
JOIN trials AS t ON t.trial_key = e.trial_key AND t.run_id = e.run_id
WHERE t.suite_id = $suite_id
    AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], t.run_id))
    AND (t.usable OR t.outcome = 'unscored')
GROUP BY e.case_id, e.idx, e.type, e.required, t.arm
ORDER BY e.case_id, e.idx, e.type, e.required, t.arm::VARCHAR
