"""What is read: the kinds that matter, watched or polled, and how old what is known of each is."""
