"""The live view of `paramedic list --watch`: a table with keys to filter, open and order."""
