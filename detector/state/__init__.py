"""ClusterState: a slim live copy of one cluster, kept up to date change by change."""
