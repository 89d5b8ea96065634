-- Read `dimension_scores` from the Parquet folder in the variable `lake`. Partition keys stay text: a run may be called 007.
DROP TABLE dimension_scores;
CREATE VIEW dimension_scores AS
SELECT *
FROM read_parquet(getvariable('lake') || '/dimension_scores/**/*.parquet', hive_partitioning = true, hive_types_autocast = false);
