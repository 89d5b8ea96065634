-- What does this table say, as ordered JSON rows without the times at which it was written?
SELECT to_json(facts)::VARCHAR AS line
FROM (SELECT COLUMNS(lambda name: name NOT IN ('ingested_at', 'applied_at')) FROM query_table($name)) AS facts
ORDER BY line
