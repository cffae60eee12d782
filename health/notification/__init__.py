"""Notifications as receivers get them: how many, and in which form. Pure."""
