-- This journal has been read up to here.
INSERT OR REPLACE INTO sources VALUES ($path, $run_id, $bytes, $sha256, $lines, $torn, $ingested_at)
