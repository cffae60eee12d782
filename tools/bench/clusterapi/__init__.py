"""The measurements of Cluster API's MachineHealthChecks, with Machines and Nodes in two clusters."""
