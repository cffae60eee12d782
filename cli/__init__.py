"""The `paramedic` command."""
