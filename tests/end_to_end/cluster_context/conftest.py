"""A detector and a worker for this folder: changes of the cluster context would disturb other tests.

Each test removes what it adds. Our processes stop before a kind is removed, because they notice a removed
kind only after a while.
"""

from tests.support.story import shared_processes

settings, policy = shared_processes.settings, shared_processes.policy
pairs, paramedic = shared_processes.pairs, shared_processes.paramedic
other_kind, world = shared_processes.other_kind, shared_processes.world
