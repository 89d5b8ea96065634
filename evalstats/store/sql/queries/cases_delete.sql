-- Forget the case digests of this run.
DELETE FROM cases WHERE run_id = $run_id
