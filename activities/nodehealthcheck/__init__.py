"""The parts of the activities for NodeHealthChecks."""
