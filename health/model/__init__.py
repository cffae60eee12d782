"""Values that describe a cluster and an incident. Nothing here decides."""
