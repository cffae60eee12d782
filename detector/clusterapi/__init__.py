"""The detector's part for MachineHealthChecks of Cluster API only."""
