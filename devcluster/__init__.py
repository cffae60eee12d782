"""A real control plane and a real Temporal server on one laptop, with our processes beside them."""
