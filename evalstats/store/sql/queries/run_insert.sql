-- Put the run in `incoming` in, or in the place of what was known of it.
INSERT OR REPLACE INTO runs BY NAME SELECT * FROM incoming
