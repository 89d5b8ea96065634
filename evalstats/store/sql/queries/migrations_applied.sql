-- Which migrations has this store seen?
SELECT name FROM migrations ORDER BY name
