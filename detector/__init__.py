"""The detector: keeps a small live state of the cluster, starts incidents, answers `observe`, writes status.

The detector writes only status and Events: it never remediates a target itself.
"""
