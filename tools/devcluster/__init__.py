"""Runs a real control plane, a real Temporal server and our processes on one machine."""
