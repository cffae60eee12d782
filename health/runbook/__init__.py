"""What an incident does next: the state machine, to be read from `next_move` on."""
