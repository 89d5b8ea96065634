-- Which trials belong to a run that is not known? One row a run.
SELECT run_id, count(*) AS n_trials FROM trials ANTI JOIN runs USING (run_id) GROUP BY run_id ORDER BY run_id
