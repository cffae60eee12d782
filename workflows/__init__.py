"""Deterministic workflows and the contracts of the activities that they call. No I/O."""
