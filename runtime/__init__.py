"""The common parts of our processes: settings, logs, readiness, metrics, connections. No decisions."""
