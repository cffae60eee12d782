"""One detector and worker for all tests of the folder, and a world for each test."""

from tests.support.story import shared_processes

settings, policy = shared_processes.settings, shared_processes.policy
pairs, paramedic = shared_processes.pairs, shared_processes.paramedic
other_kind, world = shared_processes.other_kind, shared_processes.world
