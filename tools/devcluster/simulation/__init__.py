"""Nodes without machines: simulated kubelets, a remediator, and controllers of Machines."""
