"""Benchmarks: `make bench` prints each figure beside its goal and the operators', on real servers."""
