"""ClusterState: a slim live picture of one cluster, kept up to date change by change."""
