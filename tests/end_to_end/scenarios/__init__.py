"""What Paramedic does, seen from the Kubernetes API; processes run through all tests of a file."""
