"""Nodes without machines: kubelets that only talk, and a remediator that only switches them."""
