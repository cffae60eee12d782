"""`paramedic retire`: ends all incidents and removes our objects from a cluster."""
