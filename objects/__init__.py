"""Values that all our packages share: those of Kubernetes objects and of our own messages."""
