-- Read `trials` from the Parquet folder in the variable `lake`. Partition keys stay text: a run may be called 007.
DROP TABLE trials;
CREATE VIEW trials AS
SELECT *
FROM read_parquet(getvariable('lake') || '/trials/**/*.parquet', hive_partitioning = true, hive_types_autocast = false);
