"""The worker: the process that runs the workflows and the activities that act on the cluster."""
