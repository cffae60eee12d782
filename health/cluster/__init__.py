"""Facts about a cluster that every check in it uses: its clock, upgrades, outages and stops."""
