"""Decides which checks are paused during a cluster upgrade, and when they are unpaused. Pure."""
