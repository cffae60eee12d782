"""A detector and a worker of this folder's own: the cluster context disturbs whatever runs beside.

A test takes away what it put there. Our processes need a while to see that a kind is served no more: they end
before it goes.
"""

from tests.end_to_end import shared_processes

settings, policy = shared_processes.settings, shared_processes.policy
pairs, paramedic = shared_processes.pairs, shared_processes.paramedic
other_kind, world = shared_processes.other_kind, shared_processes.world
