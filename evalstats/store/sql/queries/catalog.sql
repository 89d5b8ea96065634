-- What does this database hold beyond what DuckDB brings? Only qualified names: a foreign file may hold a
-- macro or view that answers in place of the real function.
SELECT 'column' AS kind, table_name AS name, column_name AS part, data_type AS definition, column_default AS more
FROM system.main.duckdb_columns() WHERE NOT internal
UNION ALL
SELECT 'constraint', table_name, constraint_text, NULL, NULL FROM system.main.duckdb_constraints()
UNION ALL
SELECT 'view', view_name, NULL, NULL, NULL FROM system.main.duckdb_views() WHERE NOT internal
UNION ALL
SELECT 'macro', function_name, NULL, NULL, NULL FROM system.main.duckdb_functions() WHERE NOT internal
ORDER BY ALL
