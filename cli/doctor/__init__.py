"""`paramedic doctor`: what is wrong with the cluster and with Temporal, and what to do about it."""
