"""The detector's part for MachineHealthChecks of OpenShift only."""
