"""What every process of ours needs to run: settings, logs, readiness, its connections. No decisions."""
