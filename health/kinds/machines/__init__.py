"""What checks of Machines have in common, of whichever API; who uses it belongs to one of the kinds."""
