"""The client of Kubernetes API servers; it makes no decisions about health."""
