"""What the detector does for MachineHealthChecks of OpenShift, and for no other kind of check."""
