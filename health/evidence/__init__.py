"""Which parts of which objects evidence contains, how they are cut to size, and how long evidence is kept."""
