"""What all parts of ours share of values of Kubernetes and of our own wire; it knows no part of ours."""
