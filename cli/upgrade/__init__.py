"""`paramedic upgrade`: the pause of checks while a cluster is upgraded, and orders to it."""
