-- Nothing is printed among the results, nothing outside can be read, and nobody can allow more.
SET enable_progress_bar = false;
SET enable_external_access = false;
SET lock_configuration = true;
