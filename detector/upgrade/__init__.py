"""The detector's part of pausing checks during upgrades: watches them, answers, starts the workflow."""
