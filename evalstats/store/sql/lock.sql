-- From here on nothing else outside can be read, and nobody can allow more.
SET enable_external_access = false;
SET lock_configuration = true;
