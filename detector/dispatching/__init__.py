"""Which incidents are open, which should be, and the calls that start and wake them."""
