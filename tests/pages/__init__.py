"""Pages that people go by at night say what the code says: all of it, and nothing that it does not say."""
