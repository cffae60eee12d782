"""The detector's part for NodeHealthChecks only."""
