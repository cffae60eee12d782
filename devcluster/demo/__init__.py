"""The demo: what fails is remediated by durable workflows, on real servers; two scenarios."""
