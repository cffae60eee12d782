"""What is kept of objects as evidence, in which order it is cut to size, and for how long."""
