-- Which journals have been read, and how far?
SELECT path, bytes, sha256 FROM sources ORDER BY path
