"""The figures of MachineHealthChecks of Cluster API, whose Machines and Nodes are in two clusters."""
