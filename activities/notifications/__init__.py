"""Delivery of notifications to the receivers of the policy, by apprise."""
