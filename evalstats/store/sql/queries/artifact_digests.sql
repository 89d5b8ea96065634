-- Which artifacts do the trials name? One row a run and digest.
SELECT DISTINCT run_id, unnest([stdout_sha256, stderr_sha256, transcript_sha256]) AS sha256
FROM trials
QUALIFY sha256 IS NOT NULL
ORDER BY run_id, sha256
