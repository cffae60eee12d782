"""What the detector does for NodeHealthChecks, and for no other kind of check."""
