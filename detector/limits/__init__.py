"""The limits of remediations: what is in flight, reserved and queued."""
