"""`paramedic retire`: ends what is under way, and leaves a cluster without anything of ours."""
