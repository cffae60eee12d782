"""The policy of an installation: limits, maintenance windows, held Nodes, and the choices of a check."""
