-- This migration has been applied.
INSERT INTO migrations VALUES ($name, $applied_at)
