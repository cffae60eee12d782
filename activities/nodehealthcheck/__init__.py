"""What the worker does for NodeHealthChecks, and for no other kind of check."""
