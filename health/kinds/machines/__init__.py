"""Code shared by the kinds of checks of Machines; only those kinds import it."""
