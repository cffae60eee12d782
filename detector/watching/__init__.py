"""Reads what the detector needs: kinds that are watched or polled, and the age of each cache."""
