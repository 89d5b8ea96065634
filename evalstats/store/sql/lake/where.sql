-- The folder that the views read, as a pattern: its own wildcards are escaped.
SET VARIABLE lake = $pattern
