-- Writing needs no more; without a limit DuckDB would keep what it wrote in memory, as long as there is some.
SET memory_limit = '256MB';
