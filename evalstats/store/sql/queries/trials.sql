-- What happened in each trial of a suite? One row a trial.
SELECT
    trial_key, run_id, suite_id, case_id, archetype, arm, trial_index, attempt, seed, status, outcome, usable,
    reason, score, passed, started_at, duration_s, exit_code, tokens_in, tokens_out, tokens_cache,
    cost, cost_source, tool_calls, stop_reason, error_class, isolation, leftover_processes, utc_offset, cached,
    source_path, source_sha256, source_locator,
    stdout_sha256, stderr_sha256, transcript_sha256
FROM trials
WHERE suite_id = $suite_id
    AND ($run_ids::VARCHAR[] IS NULL OR list_contains($run_ids::VARCHAR[], run_id))
ORDER BY run_id, case_id, trial_index
