-- The one folder that may be read once everything else is forbidden, also as a pattern.
SET allowed_directories = [$folder, $pattern]
