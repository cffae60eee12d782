"""What checks of Machines have in common, of whichever API: the two kinds use it, and nothing else does."""
