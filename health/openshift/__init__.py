"""The rules of MachineHealthCheck of OpenShift alone (semantics/machinehealthcheck-openshift.md)."""
