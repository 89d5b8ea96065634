-- Read `runs` from the Parquet folder in the variable `lake`. Partition keys stay text: a run may be called 007.
DROP TABLE runs;
CREATE VIEW runs AS
SELECT *, NULL::JSON AS manifest
FROM read_parquet(getvariable('lake') || '/runs/**/*.parquet', hive_partitioning = true, hive_types_autocast = false);
