-- One more word for what held a trial together. DuckDB cannot add to an enumeration in place.
ALTER TABLE trials ALTER COLUMN isolation TYPE VARCHAR;
DROP TYPE isolation;
CREATE TYPE isolation AS ENUM ('bwrap', 'cgroup', 'subreaper', 'killpg');
ALTER TABLE trials ALTER COLUMN isolation TYPE isolation;
