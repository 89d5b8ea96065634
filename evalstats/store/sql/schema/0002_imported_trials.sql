-- Trials read from another tool's log: where they stand in it, and what it does not know.
ALTER TABLE trials ALTER COLUMN started_at DROP NOT NULL;
ALTER TABLE trials ADD COLUMN utc_offset VARCHAR;
ALTER TABLE trials ADD COLUMN cached BOOLEAN;
ALTER TABLE trials ADD COLUMN source_path VARCHAR;
ALTER TABLE trials ADD COLUMN source_sha256 VARCHAR;
ALTER TABLE trials ADD COLUMN source_locator VARCHAR;
