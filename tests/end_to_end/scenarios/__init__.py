"""What Paramedic does, seen from the Kubernetes API; our processes run through the tests of all files."""
