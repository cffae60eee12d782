"""What is seen of a cluster and remembered of an incident: values, and nothing that decides."""
