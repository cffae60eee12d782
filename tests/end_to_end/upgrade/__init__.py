"""The pause of checks while the cluster is upgraded, through our processes, Temporal and a control plane."""
