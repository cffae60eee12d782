"""`paramedic upgrade`: shows the upgrade pause of a cluster, and sends orders to it."""
