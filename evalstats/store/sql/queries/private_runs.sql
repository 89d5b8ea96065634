-- How many runs of private suites are here?
SELECT count(*) FROM runs WHERE visibility = 'private_holdout'
