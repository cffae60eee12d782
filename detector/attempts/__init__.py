"""Which remediations ended before, for back-off."""
