"""The judgement of the cluster as a whole, and the freshness of what was read."""
