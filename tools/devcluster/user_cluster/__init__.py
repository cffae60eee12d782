"""The demo in a cluster of the user: simulated nodes there, Temporal and our processes on this machine."""
