-- The folder that the views below read, with its wildcards escaped.
SET VARIABLE lake = $folder
