-- Which suites have runs?
SELECT DISTINCT suite_id FROM runs ORDER BY suite_id
