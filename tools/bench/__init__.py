"""Benchmarks on real servers: `make bench` prints each figure with its goal and the operators' figure."""
