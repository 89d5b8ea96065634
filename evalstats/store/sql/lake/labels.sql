-- Read `labels` from the Parquet folder in the variable `lake`. Partition keys stay text: a run may be called 007.
DROP TABLE labels;
CREATE VIEW labels AS
SELECT *
FROM read_parquet(getvariable('lake') || '/labels/**/*.parquet', hive_partitioning = true, hive_types_autocast = false);
