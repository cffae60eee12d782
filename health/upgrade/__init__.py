"""Upgrade: what is paused while the cluster is being upgraded, and unpaused after it. Pure."""
