"""The parts of the activities for MachineHealthChecks of OpenShift."""
