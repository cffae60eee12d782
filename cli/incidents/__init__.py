"""Lists, shows and orders incidents."""
