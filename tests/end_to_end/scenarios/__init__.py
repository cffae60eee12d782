"""The behaviour of Paramedic at the Kubernetes API; our processes run through the tests of all files."""
