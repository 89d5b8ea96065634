-- Can nobody change the configuration any more?
SELECT current_setting('lock_configuration');
