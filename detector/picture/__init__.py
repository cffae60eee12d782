"""What is seen: checks, targets, requests and Leases, joined and indexed, without a judgement."""
