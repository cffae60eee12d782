"""Pauses of checks while the cluster is upgraded: what a detector watches, answers and starts for them."""
