"""Commands that ask the leading detector why Paramedic does or does not act: explain, check and simulate."""
