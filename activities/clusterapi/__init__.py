"""What the worker does for MachineHealthChecks of Cluster API, and for no other kind of check."""
