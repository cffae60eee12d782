"""Prometheus metrics of the detector."""
