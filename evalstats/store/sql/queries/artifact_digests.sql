-- Which artifacts do the trials name? One row a run and digest.
SELECT run_id, stdout_sha256 AS sha256 FROM trials WHERE stdout_sha256 IS NOT NULL
UNION
SELECT run_id, stderr_sha256 FROM trials WHERE stderr_sha256 IS NOT NULL
UNION
SELECT run_id, transcript_sha256 FROM trials WHERE transcript_sha256 IS NOT NULL
ORDER BY run_id, sha256
