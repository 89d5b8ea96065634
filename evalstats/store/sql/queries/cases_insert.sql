-- Put the case digests in `incoming` in.
INSERT INTO cases BY NAME SELECT * FROM incoming
