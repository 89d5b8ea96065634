-- Which words does the schema know? One row per enumeration.
SELECT type_name, labels FROM system.main.duckdb_types()
WHERE NOT internal AND logical_type = 'ENUM'
ORDER BY type_name
