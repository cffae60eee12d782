"""Serves several commands: connections, errors, output, parsing of values."""
