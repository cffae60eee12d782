"""Delivery of notifications to the receivers of the policy, over HTTP."""
