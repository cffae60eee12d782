"""The reflectors: they read the cluster and put it into the state."""
