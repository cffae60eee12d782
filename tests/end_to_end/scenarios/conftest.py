"""One detector and worker for all tests of the folder, and a world for each test."""

import os

import pytest

from devcluster.control_plane import ControlPlane
from devcluster.temporal import TemporalServer
from tests.support.cluster.command import Command
from tests.support.story import shared_processes
from tests.support.story.paramedic import Paramedic

settings, policy = shared_processes.settings, shared_processes.policy
pairs, paramedic = shared_processes.pairs, shared_processes.paramedic
other_kind, world = shared_processes.other_kind, shared_processes.world


@pytest.fixture
def command(temporal_server: TemporalServer, control_plane: ControlPlane, paramedic: Paramedic) -> Command:
    return Command(
        {
            **temporal_server.environment,
            "TEMPORAL_CONFIG_FILE": os.devnull,
            "KUBECONFIG": str(control_plane.kubeconfig),
            "PARAMEDIC_CLUSTER": paramedic.cluster_name,
        }
    )
