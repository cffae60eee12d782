"""The demo: a node fails, a durable workflow remediates it, and a worker killed meanwhile changes nothing."""
