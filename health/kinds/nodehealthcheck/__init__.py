"""NodeHealthCheck of remediation.medik8s.io."""
