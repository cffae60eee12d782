"""The detector: a slim live state of the cluster, dispatch to Temporal, answers to `observe`, and status.

The detector never touches a target: it reads, and it writes status and Events.
"""
