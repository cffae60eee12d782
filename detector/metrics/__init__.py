"""What is counted for Prometheus."""
