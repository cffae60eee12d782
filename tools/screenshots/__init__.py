"""Screenshots: pictures of incidents in the Temporal UI, for the pages of the documentation."""
