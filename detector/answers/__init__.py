"""What an incident is told when it asks."""
