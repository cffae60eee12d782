"""Scenarios of MachineHealthCheck of Cluster API, on a management and a workload cluster of their own."""
