"""Scenarios of MachineHealthCheck of OpenShift, on a control plane of their own."""
