"""What every process of ours needs to run: settings, logs, readiness, metrics, connections. No decisions."""
