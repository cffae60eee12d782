"""Benchmarks on real servers: `make bench` prints each figure with its goal and its ratio to a fixed loop."""
