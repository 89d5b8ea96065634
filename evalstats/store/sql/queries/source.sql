-- How much of this journal has been read?
SELECT bytes, sha256, lines, torn FROM sources WHERE path = $path
