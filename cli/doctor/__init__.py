"""`paramedic doctor`: reports problems of the cluster and of Temporal, with advice."""
