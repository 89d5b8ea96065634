-- Read `judgements` from the Parquet folder in the variable `lake`. Partition keys stay text: a run may be called 007.
DROP TABLE judgements;
CREATE VIEW judgements AS
SELECT *
FROM read_parquet(getvariable('lake') || '/judgements/**/*.parquet', hive_partitioning = true, hive_types_autocast = false);
