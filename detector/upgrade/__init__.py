"""The detector's part of pausing checks during upgrades: answers its workflow, starts and wakes it."""
