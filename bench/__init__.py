"""Benchmarks: `make bench` prints each figure beside its goal and the reference's, on real servers."""
