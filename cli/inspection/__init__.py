"""Commands that ask the cluster itself why Paramedic does or does not act: explain, check and simulate."""
