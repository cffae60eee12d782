"""Answers the questions of incidents: the observation, and whether they may act."""
