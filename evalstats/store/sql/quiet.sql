-- A progress bar would be printed on stdout, among the results.
SET enable_progress_bar = false;
