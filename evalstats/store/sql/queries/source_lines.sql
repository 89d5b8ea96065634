-- How many lines have been read from the journals of this run?
SELECT coalesce(sum(lines), 0)::BIGINT FROM sources WHERE run_id = $run_id AND path <> $path
