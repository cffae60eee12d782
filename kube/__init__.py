"""Everything that speaks to a Kubernetes API server, and nothing that decides about health."""
