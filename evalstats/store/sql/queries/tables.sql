-- Which tables are here?
SELECT table_name FROM system.main.duckdb_tables() WHERE NOT internal ORDER BY table_name
