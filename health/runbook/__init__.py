"""Decides what an incident does next: a state machine, best read from `next_move` on."""
