-- Read `expectations` from the Parquet folder in the variable `lake`. Partition keys stay text: a run may be called 007.
DROP TABLE expectations;
CREATE VIEW expectations AS
SELECT *
FROM read_parquet(getvariable('lake') || '/expectations/**/*.parquet', hive_partitioning = true, hive_types_autocast = false);
