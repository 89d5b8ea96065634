-- The one folder that may be read once everything else is forbidden.
SET allowed_directories = [$folder]
