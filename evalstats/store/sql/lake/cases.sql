-- Read `cases` from the Parquet folder in the variable `lake`. Partition keys stay text: a run may be called 007.
DROP TABLE cases;
CREATE VIEW cases AS
SELECT *
FROM read_parquet(getvariable('lake') || '/cases/**/*.parquet', hive_partitioning = true, hive_types_autocast = false);
