"""MachineHealthCheck of machine.openshift.io."""
